import { onBeforeUnmount, readonly, ref, watch, type Ref } from 'vue'

// A press first moves the focus, and the pressed element must still be there when the press ends.
const SETTLE_MS = 300

/**
 * useFolding returns whether an element is shown as one line: if it may be and the focus is
 * outside. It does not change while a pointer is down, because everything below would move.
 */
export function useFolding(
  may: () => boolean,
  within: () => Element | null,
): {
  folded: Readonly<Ref<boolean>>
  open: () => void
  /** To be called when the focus may have left the element. */
  left: () => void
} {
  const folded = ref(false)
  let down = false
  let timer: ReturnType<typeof setTimeout> | undefined
  function settle() {
    clearTimeout(timer)
    // An element that is pressed while folded stays folded.
    if (!down) folded.value = may() && (folded.value || !within()?.contains(document.activeElement))
  }
  function left() {
    clearTimeout(timer)
    timer = setTimeout(settle, SETTLE_MS)
  }
  const pointer = (ev: Event) => {
    down = ev.type === 'pointerdown'
    left()
  }
  const TYPES = ['pointerdown', 'pointerup', 'pointercancel']
  for (const type of TYPES) addEventListener(type, pointer, true)
  onBeforeUnmount(() => {
    clearTimeout(timer)
    for (const type of TYPES) removeEventListener(type, pointer, true)
  })
  watch(may, settle, { immediate: true })
  return { folded: readonly(folded), open: () => (folded.value = false), left }
}

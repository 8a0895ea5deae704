import { onBeforeUnmount, readonly, ref, watch, type Ref } from 'vue'

// A press first takes the focus away, and what it is on must be there when it ends.
const SETTLE_MS = 300

/**
 * Whether something is shown in one line: while it may be, and from when the focus
 * is outside it. Never under a pointer that is down: all above it would move.
 */
export function useFolding(
  may: () => boolean,
  within: () => Element | null,
): {
  folded: Readonly<Ref<boolean>>
  open: () => void
  /** The focus may have gone. */
  left: () => void
} {
  const folded = ref(false)
  let down = false
  let timer: ReturnType<typeof setTimeout> | undefined
  function settle() {
    clearTimeout(timer)
    // What is in one line and is pressed there stays so.
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

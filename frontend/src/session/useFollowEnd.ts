import { useEventListener, useResizeObserver } from '@vueuse/core'
import { computed, nextTick, onMounted, ref, type ComponentPublicInstance, type ComputedRef, type Ref } from 'vue'

// Closer to the end than this is at the end.
const NEAR_PX = 32

/** What a list of virtua tells of its scrolling, and does. */
interface ScrollList {
  scrollSize: number
  viewportSize: number
  scrollOffset: number
  scrollToIndex(index: number, options?: { align?: 'start' | 'center' | 'end' }): void
}

/**
 * useFollowEnd keeps a list at its end while the reader is there, and lets it be
 * where the reader scrolled to. rowCount counts the rows of the list, total the items
 * that they are made of. The handlers belong on the element around the list.
 */
export function useFollowEnd(
  list: Readonly<Ref<(ScrollList & Partial<ComponentPublicInstance>) | null>>,
  frame: Readonly<Ref<HTMLElement | null>>,
  rowCount: () => number,
  total: () => number,
): {
  following: Ref<boolean>
  /** How many items came since the reader left the end. */
  newItems: ComputedRef<number>
  followEnd: () => void
  stopFollowing: () => void
  /** Scrolls to the end once the page is drawn, if the list follows it. */
  keepEnd: () => void
  /** Tells that the list was scrolled, to an offset in px. */
  scrolled: (offset: number) => void
  handlers: {
    wheel: (ev: WheelEvent) => void
    touchstart: (ev: TouchEvent) => void
    touchmove: (ev: TouchEvent) => void
    keydown: (ev: KeyboardEvent) => void
    pointerdown: (ev: PointerEvent) => void
  }
} {
  const following = ref(true)
  const seenTotal = ref(0)

  function scrollToEnd() {
    if (list.value && rowCount() > 0) list.value.scrollToIndex(rowCount() - 1, { align: 'end' })
  }

  function keepEnd() {
    if (following.value) void nextTick(() => requestAnimationFrame(() => following.value && scrollToEnd()))
  }

  function stopFollowing() {
    if (!following.value || (list.value && list.value.scrollSize <= list.value.viewportSize)) return
    following.value = false
    seenTotal.value = total()
  }

  function followEnd() {
    following.value = true
    keepEnd()
  }

  const distanceToEnd = (l: ScrollList, offset: number) => l.scrollSize - l.viewportSize - offset
  const isScrollbar = (el: EventTarget | null) => (el as Element).getAttribute('role') === 'feed'
  let draggingScrollbar = false
  function scrolled(offset: number) {
    if (!list.value) return
    if (distanceToEnd(list.value, offset) < NEAR_PX) {
      if (!draggingScrollbar) following.value = true
    } else if (draggingScrollbar) stopFollowing()
  }

  // The reader's hand decides at once, before the scroll it causes is drawn.
  let touchY = 0
  const handlers = {
    wheel(ev: WheelEvent) {
      if (ev.deltaY < 0) stopFollowing()
    },
    touchstart(ev: TouchEvent) {
      touchY = ev.touches[0]?.clientY ?? 0
    },
    touchmove(ev: TouchEvent) {
      const y = ev.touches[0]?.clientY ?? 0
      if (y > touchY + 4) stopFollowing()
      touchY = y
    },
    keydown(ev: KeyboardEvent) {
      if (['ArrowUp', 'PageUp', 'Home'].includes(ev.key)) stopFollowing()
      if (ev.key === 'End') followEnd()
      // The browser would scroll to where the first row is thought to be; rows that are
      // measured on the way move it.
      if (ev.key === 'Home' && isScrollbar(ev.target)) {
        ev.preventDefault()
        list.value?.scrollToIndex(0)
      }
    },
    pointerdown(ev: PointerEvent) {
      // On the list itself, not on a row.
      draggingScrollbar = isScrollbar(ev.target)
    },
  }
  useEventListener('pointerup', () => (draggingScrollbar = false))

  // A row has its height when it is drawn, on a slow machine long after it came: the end
  // of them all has moved on by then.
  function settle() {
    const l = list.value
    if (l && following.value && !draggingScrollbar && distanceToEnd(l, l.scrollOffset) >= NEAR_PX) scrollToEnd()
  }
  useResizeObserver(
    () => (list.value?.$el as Element | undefined)?.firstElementChild as HTMLElement | undefined,
    settle,
  )
  useResizeObserver(frame, keepEnd)
  onMounted(keepEnd)

  return {
    following,
    newItems: computed(() => Math.max(0, total() - seenTotal.value)),
    followEnd,
    stopFollowing,
    keepEnd,
    scrolled,
    handlers,
  }
}

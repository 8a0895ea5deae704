import { useEventListener, useResizeObserver } from '@vueuse/core'
import { computed, nextTick, onMounted, ref, type ComponentPublicInstance, type ComputedRef, type Ref } from 'vue'

// The distance to the end that counts as being at the end.
const NEAR_PX = 32

/** The part of a virtua list that this module uses. */
interface ScrollList {
  scrollSize: number
  viewportSize: number
  scrollOffset: number
  scrollToIndex(index: number, options?: { align?: 'start' | 'center' | 'end' }): void
}

/**
 * useFollowEnd keeps a list scrolled to its end while the reader is there, and leaves it alone
 * after the reader has scrolled away. rowCount is the number of rows, total the number of items in
 * them. The handlers belong on the element around the list.
 */
export function useFollowEnd(
  list: Readonly<Ref<(ScrollList & Partial<ComponentPublicInstance>) | null>>,
  frame: Readonly<Ref<HTMLElement | null>>,
  rowCount: () => number,
  total: () => number,
): {
  following: Ref<boolean>
  /** The number of items that arrived since the reader left the end. */
  newItems: ComputedRef<number>
  followEnd: () => void
  stopFollowing: () => void
  /** Scrolls to the end once the page is drawn, if the list follows it. */
  keepEnd: () => void
  /** To be called when the list was scrolled, with the offset in px. */
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

  // The reader's input decides at once, before the resulting scroll.
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
      // The browser would scroll to the estimated position of the first row, which changes when
      // rows are measured.
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

  // The height of a row is known once it is drawn, possibly long after it arrived; the end has
  // moved by then.
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

import { useEventListener, useResizeObserver } from '@vueuse/core'
import { onBeforeUnmount, onMounted, ref, type Ref } from 'vue'
import { SEEN_MS, STRIP_PX, Strips, type Span } from './seen'

// How much of the part that was read stays on screen.
const OVERLAP_PX = 20

const clips = (el: Element) => getComputedStyle(el).overflowY !== 'visible'

/**
 * useSeen reports whether all of a body was on screen, down to its end. Lines marked with data-tail
 * are exempt, because they show unchanged text.
 */
export function useSeen(
  body: Readonly<Ref<HTMLElement | null>>,
  content: Readonly<Ref<HTMLElement | null>>,
  end: Readonly<Ref<HTMLElement | null>>,
): {
  seen: Readonly<Ref<boolean>>
  /** The part from the top that was seen without a gap, 0 to 1. */
  read: Readonly<Ref<number>>
  /** The number of unseen lines. */
  left: Readonly<Ref<number>>
  /** Whether scrolling is needed: the part in view was seen, and there is more. */
  stalled: Readonly<Ref<boolean>>
  /** Starts again, for another text. */
  restart(): void
  /** Scrolls to the next unseen part. */
  next(): void
} {
  const seen = ref(false)
  const left = ref(1)
  const read = ref(0)
  const stalled = ref(false)
  const strips = new Strips()
  let arrived: IntersectionObserver | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let view: Span | null = null
  let since = 0
  let first = 0
  let onScreen = false

  /** Returns the part of the content that is visible now, null if none is. */
  function inView(): Span | null {
    if (!onScreen || document.hidden || !body.value || !content.value) return null
    let top = 0
    let bottom = innerHeight
    for (let el: Element | null = body.value; el && el !== document.documentElement; el = el.parentElement) {
      if (!clips(el)) continue
      const rect = el.getBoundingClientRect()
      top = Math.max(top, rect.top)
      bottom = Math.min(bottom, rect.bottom)
    }
    const origin = content.value.getBoundingClientRect().top
    return bottom > top ? { top: top - origin, bottom: bottom - origin } : null
  }

  function update(): void {
    clearTimeout(timer)
    // A body that is not drawn has no height and would count as seen.
    if (seen.value || !onScreen || !content.value || !end.value || body.value?.hidden) return
    const now = performance.now()
    if (view) strips.add(view, now - since)
    since = now
    const origin = content.value.getBoundingClientRect().top
    const height = Math.max(0, Math.round(end.value.getBoundingClientRect().top - origin))
    const tails = [...content.value.querySelectorAll('[data-tail]')].map((el) => {
      const { top, bottom } = el.getBoundingClientRect()
      return { top: top - origin, bottom: bottom - origin }
    })
    const unseen = strips.unseen(height, tails)
    if (!unseen) {
      seen.value = true
      read.value = 1
      stop()
      return
    }
    first = unseen.top
    left.value = unseen.lines
    read.value = height > 0 ? first / height : 0
    view = inView()
    const needs = view !== null && strips.needs(view)
    if (needs) timer = setTimeout(update, SEEN_MS)
    else stalled.value = true
  }

  function stop(): void {
    clearTimeout(timer)
    arrived?.disconnect()
  }

  function restart(): void {
    stop()
    strips.reset()
    seen.value = false
    stalled.value = false
    view = null
    onScreen = false
    if (!body.value) return
    arrived = new IntersectionObserver((entries) => {
      onScreen = entries.at(-1)!.isIntersecting
      if (!onScreen) {
        if (view) strips.add(view, performance.now() - since)
        view = null
        stalled.value = true
        clearTimeout(timer)
      } else update()
    })
    arrived.observe(body.value)
  }

  function next(): void {
    update()
    if (seen.value || !body.value || !content.value) return
    // The innermost scroller shows the line at its top; outer ones scroll only if they cut it off.
    const scale = body.value.offsetHeight > 0 ? body.value.getBoundingClientRect().height / body.value.offsetHeight : 1
    let inner = true
    for (let el: Element | null = body.value; el; el = el.parentElement) {
      const page = el === document.documentElement
      if (!page && !(clips(el) && el.scrollHeight > el.clientHeight + 1)) continue
      const box = page ? { top: 0, bottom: innerHeight } : el.getBoundingClientRect()
      const line = content.value.getBoundingClientRect().top + first
      if (inner || line < box.top || line + STRIP_PX > box.bottom) {
        const overlap = Math.max(0, Math.min(OVERLAP_PX, (box.bottom - box.top - STRIP_PX) / 2))
        el.scrollBy({ top: (line - overlap - box.top) / (scale || 1) })
      }
      inner = false
    }
  }

  // Whatever scrolls: the body, a list around it, the page.
  useEventListener('scroll', update, { capture: true, passive: true })
  useEventListener('resize', update)
  useEventListener(document, 'visibilitychange', update)
  useResizeObserver(content, update)
  onMounted(restart)
  onBeforeUnmount(stop)
  return { seen, read, left, stalled, restart, next }
}

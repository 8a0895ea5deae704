import { onBeforeUnmount, onMounted, ref, type Ref } from 'vue'
import { LOOK_MS, Strips, type Span } from './seen'

// One line of what was read stays on the screen.
const OVERLAP_PX = 20

const clips = (el: Element) => getComputedStyle(el).overflowY !== 'visible'

/**
 * Whether all of a body was on screen, down to its end. Lines that are marked with
 * data-tail need not have been: they show what stays as it is.
 */
export function useSeen(
  body: Readonly<Ref<HTMLElement | null>>,
  content: Readonly<Ref<HTMLElement | null>>,
  end: Readonly<Ref<HTMLElement | null>>,
): {
  seen: Readonly<Ref<boolean>>
  /** How many lines were not seen. */
  left: Readonly<Ref<number>>
  /** Begins anew: what was seen is another text now. */
  restart(): void
  /** Brings the next part into view that was not seen. */
  next(): void
} {
  const seen = ref(false)
  const left = ref(1)
  const strips = new Strips()
  let arrived: IntersectionObserver | undefined
  let resized: ResizeObserver | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let view: Span | null = null
  let since = 0
  let first = 0
  let onScreen = false

  /** The part of the content that can be seen now. */
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

  function look(): void {
    clearTimeout(timer)
    if (seen.value || !onScreen || !content.value || !end.value) return
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
      stop()
      return
    }
    first = unseen.top
    left.value = unseen.lines
    view = inView()
    if (view && strips.needs(view)) timer = setTimeout(look, LOOK_MS)
  }

  function stop(): void {
    clearTimeout(timer)
    arrived?.disconnect()
    removeEventListener('scroll', look, true)
    removeEventListener('resize', look)
    document.removeEventListener('visibilitychange', look)
  }

  function restart(): void {
    stop()
    strips.reset()
    seen.value = false
    view = null
    onScreen = false
    if (!body.value) return
    arrived = new IntersectionObserver((entries) => {
      onScreen = entries.at(-1)!.isIntersecting
      if (!onScreen) {
        if (view) strips.add(view, performance.now() - since)
        view = null
        clearTimeout(timer)
      } else look()
    })
    arrived.observe(body.value)
    // Whatever scrolls: the body, a list around it, the page.
    addEventListener('scroll', look, { capture: true, passive: true })
    addEventListener('resize', look)
    document.addEventListener('visibilitychange', look)
  }

  function next(): void {
    look()
    if (seen.value || !body.value || !content.value) return
    const rect = body.value.getBoundingClientRect()
    const scale = body.value.offsetHeight > 0 ? rect.height / body.value.offsetHeight : 1
    const by = (content.value.getBoundingClientRect().top + first - OVERLAP_PX - Math.max(rect.top, 0)) / (scale || 1)
    let scroller: Element | null = body.value
    while (scroller && !(clips(scroller) && scroller.scrollHeight > scroller.clientHeight + 1))
      scroller = scroller.parentElement
    ;(scroller ?? document.scrollingElement)?.scrollBy({ top: by })
  }

  onMounted(() => {
    restart()
    resized = new ResizeObserver(look)
    if (content.value) resized.observe(content.value)
  })
  onBeforeUnmount(() => {
    stop()
    resized?.disconnect()
  })
  return { seen, left, restart, next }
}

import { shallowRef, type Ref } from 'vue'
import { samePlace, STILL_MS, type Rect } from './decide'

// Records since when buttons have been in their places. A page is not notified when an element is
// moved by another, so buttons are measured in each frame in which something may move them (a change
// of the document, scrolling, resizing), and several times a second for other causes, such as an
// image that has loaded. Measuring happens at the start of an animation frame, when the layout is
// computed anyway.

const EVERY_MS = 80

interface Watched {
  readonly el: Element
  rect: Rect
  /** Since when it has been on screen in its place, in ms; Infinity while it is not. */
  since: number
  readonly still: Ref<boolean>
}

export interface Stillness {
  /** Whether it has been in its place long enough. */
  readonly still: Readonly<Ref<boolean>>
  /** Measures now where it is, and how long it has been there, in ms. */
  measure(): { rect: Rect; stillFor: number }
  stop(): void
}

const all = new Set<Watched>()
let timer: ReturnType<typeof setTimeout> | undefined
let frame = 0

const now = () => performance.now()

/**
 * Reports whether a pointer at the middle of an element would hit it: it is in the window, and
 * nothing covers it.
 */
function onScreen(el: Element, rect: Rect): boolean {
  if (document.hidden || rect.width === 0 || rect.height === 0) return false
  const at = document.elementFromPoint(rect.x + rect.width / 2, rect.y + rect.height / 2)
  return at !== null && el.contains(at)
}

function measure(w: Watched): void {
  const rect = w.el.getBoundingClientRect()
  if (!onScreen(w.el, rect)) w.since = Infinity
  else if (w.since === Infinity || !samePlace(rect, w.rect)) w.since = now()
  w.rect = rect
  w.still.value = now() - w.since >= STILL_MS
}

function schedule(): void {
  cancelAnimationFrame(frame)
  frame = requestAnimationFrame(() => {
    for (const w of all) measure(w)
    next()
  })
}

function next(): void {
  clearTimeout(timer)
  if (all.size === 0) return
  const waits = [...all].map((w) =>
    w.still.value || w.since === Infinity ? EVERY_MS : Math.max(1, w.since + STILL_MS - now()),
  )
  timer = setTimeout(schedule, Math.min(EVERY_MS, ...waits))
}

const changes = typeof MutationObserver === 'function' ? new MutationObserver(schedule) : null
const passive = { capture: true, passive: true }

function begin(): void {
  changes?.observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
  addEventListener('scroll', schedule, passive)
  addEventListener('resize', schedule, passive)
  window.visualViewport?.addEventListener('scroll', schedule)
  window.visualViewport?.addEventListener('resize', schedule)
}

function end(): void {
  clearTimeout(timer)
  cancelAnimationFrame(frame)
  changes?.disconnect()
  removeEventListener('scroll', schedule, passive)
  removeEventListener('resize', schedule, passive)
  window.visualViewport?.removeEventListener('scroll', schedule)
  window.visualViewport?.removeEventListener('resize', schedule)
}

/** watchStillness watches an element until stop is called. */
export function watchStillness(el: Element): Stillness {
  // Without layout, nothing can move.
  if (typeof document.elementFromPoint !== 'function') {
    const rect = { x: 0, y: 0, width: 0, height: 0 }
    return { still: shallowRef(true), measure: () => ({ rect, stillFor: Infinity }), stop() {} }
  }
  const w: Watched = { el, rect: el.getBoundingClientRect(), since: Infinity, still: shallowRef(false) }
  if (all.size === 0) begin()
  all.add(w)
  next()
  return {
    still: w.still,
    measure() {
      measure(w)
      return { rect: w.rect, stillFor: now() - w.since }
    },
    stop() {
      all.delete(w)
      if (all.size === 0) end()
    },
  }
}

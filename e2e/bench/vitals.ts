// What browsers report of a page to whoever asks: its largest paint, how much it
// moved, and how long a press took to be seen.
import type { Page } from '@playwright/test'

export interface Vitals {
  lcp: number // ms
  cls: number // of all shifts; what browsers report is the worst five seconds of it
  interactions: number[] // ms, in steps of 8; none is below 16
}

declare global {
  interface Window {
    vitals: Vitals
  }
}

/** Begins to watch the pages that are loaded from now on. */
export async function vitals(page: Page): Promise<() => Promise<Vitals>> {
  await page.addInitScript(() => {
    const found: Vitals = { lcp: 0, cls: 0, interactions: [] }
    window.vitals = found
    const watch = (type: string, take: (entry: any) => void, more: object = {}) =>
      new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true, ...more })
    watch('largest-contentful-paint', (e) => (found.lcp = e.startTime))
    watch('layout-shift', (e) => (found.cls += e.hadRecentInput ? 0 : e.value))
    // One interaction is several events: the longest of them counts.
    const longest = new Map<number, number>()
    watch(
      'event',
      (e) => {
        if (!e.interactionId) return
        longest.set(e.interactionId, Math.max(longest.get(e.interactionId) ?? 0, e.duration))
        found.interactions = [...longest.values()]
      },
      { durationThreshold: 16 },
    )
  })
  return () =>
    page.evaluate(
      () => new Promise<Vitals>((done) => requestAnimationFrame(() => setTimeout(() => done(window.vitals), 200))),
    )
}

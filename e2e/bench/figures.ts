// The figures of a page from Chromium's own metrics, and how they are printed.
import type { CDPSession, Page } from '@playwright/test'

export interface Cost {
  script: number // ms
  style: number
  layout: number
  heap: number // bytes
}

export async function meter(page: Page): Promise<() => Promise<Cost>> {
  const session: CDPSession = await page.context().newCDPSession(page)
  // The time of the main thread itself: what else the machine does is not the app's.
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    const of = (name: string) => metrics.find((m) => m.name === name)?.value ?? 0
    return {
      script: of('ScriptDuration') * 1000,
      style: of('RecalcStyleDuration') * 1000,
      layout: of('LayoutDuration') * 1000,
      heap: of('JSHeapUsedSize'),
    }
  }
}

/** Milliseconds of script, style and layout between two readings. */
export const spent = (from: Cost, to: Cost) => to.script - from.script + to.style - from.style + to.layout - from.layout

export function percentile(of: number[], p: number): number {
  const sorted = [...of].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))] ?? NaN
}

/** One row of the table; the limit is of docs/performance.md. */
export const say = (what: string, figure: string, limit: string) => console.log(`| ${what} | ${figure} | ${limit} |`)

/** Where it went, for whoever wants it lower. */
export const parts = (from: Cost, to: Cost, turns: number) =>
  (['script', 'style', 'layout'] as const)
    .map((part) => `${part} ${((to[part] - from[part]) / turns).toFixed(2)}`)
    .join(', ')

/** How long after a page began to load words of a transcript were painted, in ms of the page's own clock. */
export async function until(page: Page, words: string): Promise<() => Promise<number>> {
  await page.addInitScript((words) => {
    const seen = new MutationObserver(() => {
      if (!document.querySelector('[role=feed]')?.textContent?.includes(words)) return
      seen.disconnect()
      requestAnimationFrame(() => setTimeout(() => performance.mark('readable')))
    })
    seen.observe(document, { subtree: true, childList: true, characterData: true })
  }, words)
  return async () => {
    await page.waitForFunction(() => performance.getEntriesByName('readable').length > 0)
    return page.evaluate(() => performance.getEntriesByName('readable')[0]!.startTime)
  }
}

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
    return { script: of('ScriptDuration') * 1000, style: of('RecalcStyleDuration') * 1000, layout: of('LayoutDuration') * 1000, heap: of('JSHeapUsedSize') }
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
  (['script', 'style', 'layout'] as const).map((part) => `${part} ${((to[part] - from[part]) / turns).toFixed(2)}`).join(', ')

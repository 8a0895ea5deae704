// Looks for what keeps people out: rules that a program can check, in both
// themes and on a desk and a phone.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

import { expect, type Page } from '@playwright/test'
import type { AxeResults, RunOptions } from 'axe-core'

import { everything } from './machine.ts'

// AxeBuilder would open a page for each look, and read axe anew in both.
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export const DESK = { width: 1280, height: 800 }
export const PHONE = { width: 390, height: 844 }
const OPTIONS: RunOptions = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  resultTypes: ['violations'],
}
/** What a theme and a size decide. */
const BY_LOOKS = ['color-contrast', 'link-in-text-block', 'target-size', 'scrollable-region-focusable']

const softly = expect.configure({ soft: true })

async function violations(page: Page, within: string, options: RunOptions): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe)
  const found = await page.evaluate(
    ([within, options]) =>
      (window as unknown as { axe: { run(what: string, options: RunOptions): Promise<AxeResults> } }).axe.run(
        within,
        options,
      ),
    [within, options] as const,
  )
  return found.violations.map(
    (v) =>
      `${v.id}: ${v.help}\n${v.nodes.map((n) => `  ${n.target.join(' ')}\n  ${n.failureSummary?.replace(/\n/g, '\n  ')}`).join('\n')}`,
  )
}

/**
 * Fails unless the page, as it is now, breaks none of the rules: in light and dark on a
 * desk and a phone in `make test-all`, else in light on the first of sizes, and in dark on the
 * last those that a theme and a size decide; nor does it scroll sideways at 320 px. within: a
 * selector of the part that is looked at, where the rest has been looked at before. sizes:
 * where it exists.
 */
export async function expectAccessible(
  page: Page,
  what: string,
  within = 'html',
  sizes = [DESK, PHONE],
): Promise<void> {
  for (const size of sizes) {
    await page.setViewportSize(size)
    for (const colorScheme of ['light', 'dark'] as const) {
      if (!everything && size !== (colorScheme === 'light' ? sizes[0] : sizes.at(-1))) continue
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      // While the page draws itself anew its colours are half of one theme and half of the other.
      // The rule that reads the style sheets finds the same in each look.
      const preload = size === sizes[0] && colorScheme === 'light'
      const runOnly = everything || colorScheme === 'light' ? OPTIONS.runOnly : BY_LOOKS
      await softly
        .poll(() => violations(page, within, { ...OPTIONS, runOnly, preload }), {
          message: `${what}, ${colorScheme}, ${size.width} px`,
          timeout: 60_000,
        })
        .toEqual([])
    }
  }
  await page.setViewportSize({ width: 320, height: 640 })
  // What sticks out is named, or the page scrolls for a reason that nobody finds.
  const wide = () =>
    page.evaluate(() => {
      // Also what fills the window and scrolls in the place of the page.
      const pages = [...document.querySelectorAll('body *')].filter(
        (el) =>
          el.clientHeight > innerHeight / 2 &&
          el.clientWidth > 0.9 * innerWidth &&
          getComputedStyle(el).overflowX === 'auto',
      )
      if ([document.documentElement, ...pages].every((el) => el.scrollWidth <= Math.min(el.clientWidth, innerWidth)))
        return []
      const out = [...document.querySelectorAll('body *')].filter(
        (el) => el.getBoundingClientRect().right > innerWidth + 1,
      )
      return ['the page scrolls sideways', ...out.map((el) => (el.cloneNode(false) as Element).outerHTML)]
    })
  // The page lays itself out anew after the window has its size.
  await softly.poll(wide, { message: `${what} at 320 px` }).toEqual([])
  await page.setViewportSize(sizes[0]!)
}

import { App } from '../app.ts'
import { startDemo } from '../demo.ts'
import { expect, test } from '../fixtures.ts'

// What a newcomer does until the first decision is counted where it arrives: addresses that are
// opened, presses and keys.
const MAX_ACTIONS = 3

for (const [device, viewport] of [
  ['a desktop', { width: 1440, height: 900 }],
  ['a phone', { width: 390, height: 844 }],
] as const) {
  const tag = device === 'a phone' ? '@nightly' : '@newest'
  test(`from the demo to the first decision on ${device} in ${MAX_ACTIONS} actions ${tag}`, async ({
    browser,
    claudePath,
  }) => {
    const demo = await startDemo(claudePath)
    const context = await browser.newContext({ viewport })
    try {
      let actions = 0
      await context.exposeBinding('countAction', () => void actions++)
      await context.addInitScript(() => {
        const count = (ev: Event) => ev.isTrusted && (window as unknown as { countAction(): void }).countAction()
        for (const type of ['pointerdown', 'keydown']) addEventListener(type, count, true)
      })
      const page = await context.newPage()
      await page.goto(demo.link)
      actions++ // the address that was opened
      const app = App.of(page)
      if (device === 'a phone') await app.review()
      await app.approve(app.card())
      await expect(app.outcome()).toBeVisible()
      expect(actions).toBeLessThanOrEqual(MAX_ACTIONS)
      test.info().annotations.push({ type: 'actions to the first decision', description: String(actions) })
    } finally {
      await context.close()
      await demo.stop()
    }
  })
}

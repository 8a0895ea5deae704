// From the sign-in link that a new server printed to the end of the demo.
import { expect, type Page, test } from '@playwright/test'

import { App } from '../app.ts'
import { asPage, goOn } from '../fixtures.ts'

async function state(page: Page, session: string): Promise<{ state: string; pending_requests: unknown[] }> {
  const answer = await page.request.get(new URL(`/api/sessions/${session}`, page.url()).href, {
    headers: await asPage(page),
  })
  if (!answer.ok()) throw new Error(`${answer.status()} ${await answer.text()}`)
  return (await answer.json()).process_state
}

test('the first admin sets the server up and answers the whole demo', async ({ page }) => {
  await page.addInitScript(() => localStorage.setItem('sayso:undo', 'never'))
  goOn(page)
  await page.goto(process.env.SAYSO_FRESH_LINK ?? '')
  await page.getByLabel('Name').fill('Ada')
  await page.getByLabel('Password').fill('four words of mine')
  await page.getByRole('button', { name: 'Get started' }).click()
  await expect(page.getByText('Claude Code is installed')).toBeVisible()
  const app = App.of(page)
  await app.demoButton().click()
  await expect(page).toHaveURL(/\/sessions\//)
  const session = page.url().split('/').pop() ?? ''
  let answered = 0
  for (;;) {
    await expect
      .poll(
        async () => {
          const { state: now, pending_requests } = await state(page, session)
          return pending_requests.length > 0 || now === 'user_turn'
        },
        { timeout: 120_000 },
      )
      .toBe(true)
    if ((await state(page, session)).pending_requests.length === 0) break
    await app.sayYes()
    answered++
  }
  expect(answered).toBeGreaterThanOrEqual(7)
})

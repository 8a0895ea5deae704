import { join } from 'node:path'

import { devices } from '@playwright/test'

import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { ask, bash, plan, play, prompt, question, text } from '../script.ts'

test('the printed link signs in once @newest @browsers', async ({ browser, server, page }) => {
  const fresh = await browser.newContext()
  const first = await fresh.newPage()
  const address = `${server.url}/sign-in#${server.signInSecret()}`
  await first.goto(address)
  await App.expectSignedIn(first)
  expect(first.url()).not.toMatch(/token|#.{16}/)

  const other = await browser.newContext()
  const second = await other.newPage()
  await second.goto(address)
  await App.expectSignedOut(second)
  await fresh.close()
  await other.close()

  await App.home(page, server.url)
  await App.expectSignedIn(page)
})

test('a session is started in the app, and waiting sessions are at the top of the list @browsers', async ({
  page,
  folder,
  rest,
  server,
}) => {
  const quiet = await rest.start(prompt('Say hello.', [text('Hello.')]), { cwd: folder, title: 'The quiet one' })
  await expect.poll(async () => (await rest.state(quiet)).state).toBe('user_turn')
  const app = await App.newSession(
    page,
    server.url,
    folder,
    prompt('Make a file.', [bash('touch made')], [text('Made.')]),
  )

  await expect(app.card()).toBeVisible()
  await expect(app.waitingForYou().getByText('Make a file.')).toBeVisible()
  await expect(app.waitingForYou().getByText('The quiet one')).toBeHidden()
  await app.approve(app.card())
  await expect(app.said('Made.')).toBeVisible()
  await expect(app.waitingForYou().getByText('Make a file.')).toBeHidden()
})

test('a plan is approved @browsers', async ({ page, folder, rest }) => {
  const id = await rest.start(prompt('Plan.', ...plan('# The plan\n\n1. Paint it green'), [text('Off I go.')]), {
    cwd: folder,
    permission_mode: 'plan',
  })
  const app = await App.openSession(page, id)
  await expect(app.card().getByText('Paint it green')).toBeVisible()
  await app.approvePlan(app.card())
  await expect(app.said('Off I go.')).toBeVisible()
})

test.describe('on a phone', () => {
  const { viewport, userAgent, deviceScaleFactor, isMobile, hasTouch } = devices['Pixel 7']
  test.use({ viewport, userAgent, deviceScaleFactor, isMobile, hasTouch })

  test('requests are approved and answered by touch @newest', async ({ page, scripted, rest }) => {
    const long = `touch ${join(scripted, 'a-name-that-is-much-longer-than-the-screen-of-any-phone-'.repeat(3))}`.slice(
      0,
      200,
    )
    const id = await rest.start(
      play(
        'Work.',
        [bash(long)],
        [ask(question('Which format?', 'Format', ['Summary', 'Table']))],
        [text('You said: {{last_tool_result}}')],
      ),
      { cwd: scripted },
    )
    const app = await App.openSession(page, id)
    await app.review()
    await expect(app.card()).toBeVisible()

    const approve = app.approveButton(app.card())
    await expect(approve).toBeInViewport()
    const box = await approve.boundingBox()
    expect(box?.height).toBeGreaterThanOrEqual(44)
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0)

    await app.approve(app.card())
    await app.card().getByText('Table', { exact: true }).tap()
    await app.submitButton(app.card()).tap()
    await expect(app.said(/"Which format\?":"Table"/)).toBeVisible()
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0)
  })
})

// What people see when the connection is lost, and what happens with their answers meanwhile. The
// page's clock is simulated where time must pass.
import type { Locator } from '@playwright/test'

import { App } from '../app.ts'
import { awayMessages, expect, signInContext, test } from '../fixtures.ts'
import type { Request } from '../../frontend/src/wire/messages.gen.ts'
import { bash, prompt, text } from '../script.ts'
import { Stage } from '../stage.ts'

const asks = (id: string, command: string): Request =>
  ({
    request_id: id,
    request_type: 'tool_approval',
    source: 'claude',
    tool_name: 'Bash',
    tool_input: { command },
    input_hash: `sha256:${id}`,
    created_at: Date.now() / 1000,
    expires_at: null,
    status: 'open',
    agent_id: null,
    agent_type: null,
    title: null,
    description: null,
    decision_reason: null,
    blocked_path: null,
    permission_suggestions: [],
    tool_use_id: null,
    draft: null,
  }) as unknown as Request

test('the server returns after minutes in another version, a laptop wakes up, and an answer is canceled and another not confirmed @newest', async ({
  page,
  server,
}) => {
  const dimmed = page.locator('.columns')
  const bar = (words: RegExp): Locator => page.getByRole('status').filter({ hasText: words })
  await page.clock.install()
  const stage = await Stage.in(page)
  await stage.open(server.url)
  const app = App.of(page)
  stage.say({ kind: 'text', text: 'The word is heron.' })
  stage.show([asks('one', 'touch one')])
  await expect(app.approveButton(app.card())).not.toHaveAttribute('aria-disabled')

  // The server is gone: at first one word, later since when.
  stage.up = false
  await stage.hangUp()
  await expect(page.getByRole('button', { name: 'Queue', exact: true })).toBeVisible()
  await expect(bar(/^No connection to the server|^Reconnecting/)).toBeVisible()
  // A decision made now can be cancelled.
  await app.approve(app.card())
  await expect(app.card().getByText('Your answer is sent when you reconnect.')).toBeVisible()
  await app.card().getByRole('button', { name: 'Cancel' }).click()
  await expect(app.approveButton(app.card())).not.toHaveAttribute('aria-disabled')
  for (let i = 0; i < 5; i++) await page.clock.runFor(14_000)
  await expect(bar(/^The server has been unreachable since \d/)).toBeVisible()
  const width = await bar(/^The server has been/).evaluate((el) => el.getBoundingClientRect().width / innerWidth)
  expect(width).toBe(1)
  await expect(app.said('The word is heron.')).toBeVisible()
  await expect(dimmed).not.toHaveAttribute('aria-busy')

  // It is back with a newer version. The cancelled decision was not sent.
  stage.version = 'v9'
  stage.up = true
  // Without waiting: an automatic retry would remove the button.
  await page.getByRole('button', { name: 'Retry now' }).evaluate((button: HTMLElement) => button.click())
  await expect(bar(/^sayso was updated/).getByRole('button', { name: 'Reload' })).toBeVisible()
  expect(stage.commands.filter((c) => c.type === 'pending_request_response')).toEqual([])

  // A laptop wakes up hours later: nothing can be decided on its old state.
  stage.silent = true
  await page.clock.fastForward('08:00:00')
  await expect(dimmed).toHaveAttribute('aria-busy', 'true')
  await expect(app.approveButton(app.card())).toHaveAttribute('aria-disabled', 'true')
  await page.getByRole('button', { name: 'Interrupt' }).click({ force: true })
  await page.clock.runFor(1_000)
  await app.card().focus()
  await page.keyboard.press('y')
  stage.silent = false
  stage.show([asks('two', 'touch two')])
  await stage.hangUp()
  await page.clock.runFor(2_000)
  await expect(app.card('touch two')).toBeVisible()
  await expect(app.card('touch one')).toHaveCount(0)
  await expect(dimmed).not.toHaveAttribute('aria-busy')
  expect(stage.commands.filter((c) => c.type === 'pending_request_response')).toEqual([])

  // The server receives the answer but sends no ack for a while.
  await page.clock.runFor(1_000)
  stage.deaf = true
  await app.approve(app.card())
  await expect(app.approveButton(app.card())).toHaveAttribute('aria-busy', 'true')
  await page.clock.runFor(6_000)
  await expect(app.card().getByText('No confirmation yet. Still trying.')).toBeVisible()
  expect(stage.commands.filter((c) => c.type === 'pending_request_response')).toHaveLength(1)
})

test('an offline answer is sent once after a reconnect, and signing out applies to all tabs @newest', async ({
  page,
  context,
  folder,
  rest,
  server,
  browser,
}) => {
  for (const description of [...awayMessages, 'ERR_INTERNET_DISCONNECTED'])
    test.info().annotations.push({ type: 'allowed on the console', description })
  const id = await rest.start(prompt('Make it.', [bash('echo once >> made')], [text('It is made.')]), { cwd: folder })
  const app = await App.openSession(page, id)
  await expect(app.approveButton(app.card())).not.toHaveAttribute('aria-disabled')
  await context.setOffline(true)
  await expect(page.getByRole('status').filter({ hasText: /^You’re offline/ })).toBeVisible()
  await app.approve(app.card())
  await expect(app.card().getByText('Your answer is sent when you reconnect.')).toBeVisible()
  expect((await rest.state(id)).pending_requests).toHaveLength(1)
  await context.setOffline(false)
  await expect(app.said('It is made.')).toBeVisible()
  expect((await rest.transcript(id)).filter((i) => i.kind === 'resolved')).toHaveLength(1)

  // In a sign-in of its own, which ends in all tabs of this browser.
  const other = await browser.newContext()
  await signInContext(other, server)
  const [near, far] = [
    await App.openSession(await other.newPage(), id, server.url),
    await App.openSession(await other.newPage(), id, server.url),
  ]
  await expect(near.said('It is made.')).toBeVisible()
  await expect(far.said('It is made.')).toBeVisible()
  await near.signOut()
  await App.expectSignedOut(far.page)
  await expect(far.page).toHaveURL(/\/sign-in\?next=/)
  await expect(far.page.getByText('You’re signed out. Sign in again.')).toBeVisible()
  await other.close()
})

test('a request says that its card is loading, and shows it once it has loaded @nightly', async ({ page, server }) => {
  for (const description of ['net::ERR_FAILED', 'Failed to fetch dynamically imported module', '/api/pending/'])
    test.info().annotations.push({ type: 'allowed on the console', description })
  const parts = /\/assets\/(cards|questions)-[^/]*\.js$/
  await page.route(parts, (route) => route.abort())
  const stage = await Stage.in(page)
  await stage.open(server.url)
  stage.show([asks('one', 'touch one')])
  await expect(page.getByRole('region', { name: 'Requests' })).toHaveText('Loading…')
  await page.unroute(parts)
  await expect(App.of(page).card()).toBeVisible()
  // What was fetched with it, such as the shortcuts, is there as well.
  await expect(async () => {
    await page.keyboard.press('?')
    await expect(page.getByRole('dialog', { name: 'Keyboard shortcuts' })).toBeVisible({ timeout: 1_000 })
  }).toPass()
})

test('a start without a response is repeated as the same, and one that was changed as another @newest', async ({
  page,
  folder,
  server,
}) => {
  for (const description of [...awayMessages, 'ERR_FAILED', 'Failed to load resource'])
    test.info().annotations.push({ type: 'allowed on the console', description })
  await App.home(page, server.url)
  const commands: string[] = []
  await page.route('**/api/sessions', (route) => {
    if (route.request().method() !== 'POST') return route.fallback()
    commands.push((route.request().postDataJSON() as { command_id: string }).command_id)
    return route.abort()
  })
  await page.getByRole('button', { name: 'New session' }).first().click()
  await page.getByRole('combobox', { name: 'Folder' }).fill(folder)
  const text = page.getByRole('textbox', { name: /What should Claude do/ })
  const start = async (n: number) => {
    await page.getByRole('button', { name: 'Start session' }).click()
    await expect.poll(() => commands.length).toBe(n)
  }
  await text.fill('First')
  await start(1)
  await start(2)
  await text.fill('Second')
  await start(3)
  expect(commands[1]).toBe(commands[0])
  expect(commands[2]).not.toBe(commands[0])
})

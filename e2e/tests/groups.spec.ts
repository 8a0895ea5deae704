import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator } from '@playwright/test'

import { request as asked } from '../../frontend/src/testcards.ts'
import type { Level, PendingRequestResponse } from '../../frontend/src/wire/messages.gen.ts'
import { expectAccessible } from '../a11y.ts'
import { App } from '../app.ts'
import { expect, test as shared } from '../fixtures.ts'
import { Hands } from '../hands.ts'
import { program } from '../machine.ts'
import { type Server, startServer } from '../server.ts'
import { Stage } from '../stage.ts'
import { REST } from '../wire.ts'

// Requests that come together are one card. The CLI is the scripted one, or there is none: what is looked at is the app.
const test = shared.extend<{ own: Server }>({
  own: async ({ model }, use) => {
    const server = await startServer({ claudePath: program('claudetest'), modelURL: model.url })
    await use(server)
    await server.stop()
  },
})

const burst = (count: number) => {
  const ask = { tool_name: 'WebFetch', input: { url: 'https://docs.example.com/v2/a', prompt: 'What is it?' } }
  return `Collect.\n\n\`\`\`claudetest\n${JSON.stringify({ turn: [{ ask, count, parallel: true }, { text: 'Collected.' }] })}\n\`\`\``
}
const now = () => Date.now() / 1000
const fetch = (id: string, url: string, created_at = now()) =>
  asked(id, { tool_name: 'WebFetch', tool_input: { url, prompt: 'What?' }, risk: 'medium', created_at })
const answers = (stage: Stage) =>
  stage.commands.filter(
    (c): c is PendingRequestResponse & { type: 'pending_request_response' } => c.type === 'pending_request_response',
  )

test('thirty fetches are one card, which approves them together and each once @newest @browsers', async ({
  page,
  context,
  request,
  signIn,
  own,
}) => {
  await signIn(context, own)
  const rest = new REST(request, own)
  const id = await rest.start(burst(30), { cwd: mkdtempSync(join(own.workspace, 'project-')), title: 'Collect' })
  await expect.poll(async () => (await rest.state(id)).pending_requests.length).toBe(30)
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.goto(`${own.url}/inbox`)
  await expect(page.locator('[data-inbox-row]')).toHaveCount(1)
  await expect(page.locator('[data-inbox-row]')).toContainText('30 web pages')
  await expect(page).toHaveTitle(/^\(1\)/)
  const card = page.getByRole('group', { name: 'Fetch 30 web pages' })
  await expect(card.getByText('New host')).toBeVisible()
  await expect(card.getByRole('button', { name: 'Approve 0' })).toHaveAttribute('aria-disabled', 'true')
  const second = await App.openSession(await context.newPage(), id, own.url)
  await expect(second.page.getByRole('group', { name: 'Fetch 30 web pages' })).toBeVisible()

  // Two presses: all of them are on screen, so nothing has to be scrolled to before it is approved.
  await card.getByRole('checkbox', { name: '0 of 30 selected' }).check()
  const approve = card.getByRole('button', { name: 'Approve 30' })
  await expect(approve).not.toHaveAttribute('aria-disabled')
  for (const row of await card.getByRole('listitem').all()) await expect(row).toBeInViewport({ ratio: 1 })
  await approve.click()
  await expect.poll(async () => (await rest.state(id)).pending_requests.length, { timeout: 20_000 }).toBe(0)
  await expect.poll(() => rest.said(id)).toContain('Collected.')
  const calls = (await rest.transcript(id)).filter((i) => i.kind === 'tool_call')
  expect(calls.filter((c) => String(c.result).startsWith('ran WebFetch'))).toHaveLength(30)
  await expect(second.page.getByText(/^(You approved|.+ approved this)/).first()).toBeVisible()
  await second.page.close()
  // Before the server that it belongs to.
  await page.close()
})

// However the columns fall, what was never on screen is not approved.
for (const [what, { width, height }, path, fits] of [
  ['short paths on a phone', { width: 390, height: 844 }, (i: number) => `/v2/${i}`, true],
  ['long paths on a phone', { width: 390, height: 844 }, (i: number) => `/reference/of/endpoint/number-${i}`, false],
  ['long paths on a desk', { width: 1440, height: 900 }, (i: number) => `/v2/payments/capture-${i}`, true],
  ['paths of several lines', { width: 1440, height: 900 }, (i: number) => `/${'deep/'.repeat(40)}${i}`, false],
] as const) {
  test(`thirty fetches are approved at once where all are on screen: ${what} @newest @nightly`, async ({
    page,
    server: { url },
  }) => {
    const stage = await Stage.in(page)
    const at = now()
    stage.show(Array.from({ length: 30 }, (_, i) => fetch(`${i}`, `https://docs.example.com${path(i)}`, at)))
    await page.setViewportSize({ width, height })
    await stage.open(url)
    if (width < 500) await App.of(page).review()
    const card = page.getByRole('group', { name: 'Fetch 30 web pages' })
    await card.getByRole('checkbox', { name: '0 of 30 selected' }).check()
    const approve = card.getByRole('button', { name: 'Approve 30' })
    const more = card.getByRole('button', { name: /more lines?$/ })
    if (fits) await expect(approve).not.toHaveAttribute('aria-disabled')
    else {
      await expect(more).toBeVisible()
      await expect(approve).toHaveAttribute('aria-disabled', 'true')
      await expect(async () => {
        if (await more.isVisible()) await more.click({ timeout: 1_000 })
        await expect(approve).not.toHaveAttribute('aria-disabled', { timeout: 100 })
      }).toPass()
    }
    await approve.click()
    await expect.poll(() => answers(stage).length).toBe(30)
  })
}

test('a failed request is named in its row, and one answered in another tab is not sent @newest', async ({
  page,
  server: { url },
}) => {
  const stage = await Stage.in(page)
  const at = now()
  const urls = ['a', 'b', 'c', 'd'].map((id) => [id, `https://docs.example.com/${id}`] as const)
  stage.say({
    kind: 'tool_call',
    tool_use_id: 't',
    tool_name: 'WebFetch',
    input: { url: 'https://docs.example.com/index' },
    input_bytes: 1,
    status: 'done',
    result: 'x',
    result_bytes: 1,
  })
  const all = [...urls.map(([id, u]) => fetch(id, u, at)), fetch('e', 'https://pastebin.example/raw/9', at)]
  stage.show(all)
  await page.goto(`${url}/inbox`)
  const card = page.getByRole('group', { name: 'Fetch 5 web pages' })
  // All but the host that Claude has fetched nothing from.
  await expect(card.getByText('4 of 5 selected')).toBeVisible()
  const row = (name: string) => card.getByRole('listitem').filter({ hasText: name })
  await expect(row('/raw/9').getByRole('checkbox')).not.toBeChecked()

  // Another tab denies one in between.
  stage.show(all.filter((r) => r.request_id !== 'a'))
  stage.say({
    kind: 'resolved',
    request_id: 'a',
    request_type: 'tool_approval',
    tool_name: 'WebFetch',
    outcome: 'denied',
    by: 'grace',
    summary: 'Denied.',
  })
  await expect(row('/a')).toContainText(/grace/)
  await expect(row('/a').getByRole('checkbox')).toHaveAttribute('aria-disabled', 'true')
  const approve = card.getByRole('button', { name: 'Approve 3' })
  await expect(approve).not.toHaveAttribute('aria-disabled')
  stage.deaf = true
  await approve.click()
  await expect(card.getByText('Sending…')).toHaveCount(3)
  const sent = answers(stage)
  expect(sent.map((c) => [c.request_id, c.batch, c.together])).toEqual(
    ['b', 'c', 'd'].map((id) => [id, true, ['b', 'c', 'd']]),
  )
  stage.send(
    { type: 'ack', command_id: sent[0]!.command_id!, result: 'applied' },
    {
      type: 'ack',
      command_id: sent[1]!.command_id!,
      result: 'already_resolved',
      resolved: { outcome: 'denied', by: 'grace', device: 'Pixel 9', at: now(), summary: 'Denied.' },
    },
    {
      type: 'ack',
      command_id: sent[2]!.command_id!,
      result: 'rejected',
      error: { code: 'forbidden', message: 'You may not.' },
    },
  )
  await expect(card.getByRole('status')).toContainText('Approved 1. 2 were not decided.')
  await expect(row('/b')).toContainText('Approved')
  await expect(row('/c')).toContainText('grace')
  await expect(row('/d')).toContainText('You may not.')
  // What was refused can be decided again, by itself and by hand.
  await expect(row('/d').getByRole('checkbox')).not.toBeChecked()
  await expect(row('/d').getByRole('checkbox')).not.toHaveAttribute('aria-disabled')
  await expectAccessible(page, 'a group of which not all were approved', 'main')
})

test('a later request joins at the end, unselected, while the pointer is there @newest', async ({
  page,
  server: { url },
}) => {
  const stage = await Stage.in(page)
  const at = now()
  const low = (id: string) =>
    asked(id, { tool_name: 'Read', tool_input: { file_path: `/w/src/${id}.go` }, risk: 'low', created_at: at })
  const first = ['a', 'b', 'c'].map(low)
  stage.show(first)
  await stage.open(url)
  const card = page.locator('[data-request-id=a]')
  await expect(card.getByText('3 of 3 selected')).toBeVisible()
  const box = card.getByRole('checkbox', { name: /a\.go/ })
  const place = await box.boundingBox()
  await box.hover()
  stage.show([low('A'), ...first])
  await expect(card.getByText('3 of 4 selected')).toBeVisible()
  expect(await box.boundingBox()).toEqual(place)
  await expect(card.getByRole('checkbox', { name: /A\.go/ })).not.toBeChecked()
})

test('keyboard only: a group is decided in part, with one reason @newest', async ({ page, server: { url } }) => {
  const hands = await Hands.on(page)
  const stage = await Stage.in(page)
  const at = now()
  const edit = (id: string) =>
    asked(id, {
      tool_name: 'Edit',
      tool_input: { file_path: `/w/src/${id}.go`, old_string: `old ${id}`, new_string: `new ${id}` },
      risk: 'medium',
      created_at: at,
    })
  stage.show(['a', 'b', 'c'].map(edit))
  await page.goto(`${url}/inbox`)
  const card = page.getByRole('group', { name: 'Edit 3 files' })
  await expect(card.getByText('0 of 3 selected')).toBeVisible()
  await page.keyboard.press('Alt+.')
  await expect(card).toBeFocused()
  await hands.to(card.getByRole('checkbox', { name: 'src/' }))
  await hands.press('ArrowDown', 'Space')
  // What is selected is shown in full.
  await expect(card.getByText('new a')).toBeVisible()
  await expect(card.getByText('new b')).toBeHidden()
  await expect(card.getByRole('button', { name: 'Approve 1' })).not.toHaveAttribute('aria-disabled')
  await page.keyboard.press('n')
  await hands.write('Not in this file')
  await page.keyboard.press('Control+Enter')
  await expect
    .poll(() => answers(stage).map((c) => [c.request_id, c.decision, c.message]))
    .toEqual([['a', 'deny', 'Not in this file']])
  await expect(card.getByRole('status').first()).toContainText('Denied 1.')
  await expectAccessible(page, 'a group in part denied', 'main')
})

test('bulk approvals show every request in full, and high-risk ones are approved one at a time @newest', async ({
  page,
  server: { url },
}) => {
  const stage = await Stage.in(page)
  const run = (id: string, command: string, risk: Level) =>
    asked(id, { tool_name: 'Bash', tool_input: { command }, risk, created_at: now() - 60 })
  stage.show([run('a', 'git status && ls', 'low')])
  stage.showIn('s2', 'two', [run('b', 'git log', 'low')])
  stage.showIn('s3', 'three', [run('c', 'sudo rm -rf /srv', 'high')])
  await page.goto(`${url}/inbox`)
  const list = page.getByRole('region', { name: 'Pending requests' })
  await expect(page.locator('[data-inbox-row]')).toHaveCount(3)
  await App.of(page).hearsKeys()
  await page.keyboard.press('j')
  await page.keyboard.press('x')
  await expect(page.getByRole('checkbox', { name: /^Select: / })).toHaveCount(3)
  await page.keyboard.press('Shift+A')
  const card = page.locator('[data-request-id=selected]')
  await expect(card.getByRole('listitem')).toHaveCount(2)
  await expect(card.getByText('git status && ls')).toBeVisible()
  // Each row begins where the title of the card does.
  const left = async (what: Locator) => (await what.boundingBox())!.x
  expect(await left(card.getByRole('checkbox').first())).toBe(await left(card.locator('header .icon')))
  await expect(card.getByRole('button', { name: 'Approve 2' })).not.toHaveAttribute('aria-disabled')
  await expectAccessible(page, 'several selected', 'main')

  await list.getByRole('checkbox', { name: /rm -rf/ }).check()
  await expect(card.getByText('High-risk requests are approved one at a time.')).toBeVisible()
  await expect(card.getByRole('button', { name: 'Approve 3' })).toHaveAttribute('aria-disabled', 'true')
  const deny = card.getByRole('button', { name: 'Deny 3' })
  await expect(deny).not.toHaveAttribute('aria-disabled')
  await deny.click()
  await card.getByRole('textbox').fill('Not today')
  const send = card.getByRole('button', { name: 'Deny 3' })
  await expect(send).not.toHaveAttribute('aria-disabled')
  await send.click()
  await expect
    .poll(() => answers(stage).map((c) => [c.request_id, c.decision, c.message, c.batch]))
    .toEqual(['a', 'b', 'c'].map((id) => [id, 'deny', 'Not today', undefined]))
})

// How cards look, in both themes: each kind of card, and each state of one. On made frames, so that no
// picture holds a time or a name of this machine. How to update the pictures: CONTRIBUTING.md.
import type { Locator, Page } from '@playwright/test'

import { command, file, FORMS, KINDS, lines, tool } from '../../frontend/src/testcards.ts'
import type { Preview, ProcessState, Request } from '../../frontend/src/wire/messages.gen.ts'
import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { Stage } from '../stage.ts'

test.use({ timezoneId: 'UTC', goesOn: false })

type Card = [Request, Preview | null]
const idOf = (name: string) => name.replaceAll(' ', '-')
// What was asked later than now has waited for 0 s, and what counts in an hour does not count down.
const later = () => Date.now() / 1000 + 3_600

/** Shows cards under their names, and waits until they take decisions. */
async function show(stage: Stage, cards: Record<string, Card>, more: Partial<ProcessState> = {}): Promise<void> {
  for (const [name, [, preview]] of Object.entries(cards)) if (preview) stage.previews.set(idOf(name), preview)
  stage.show(
    Object.entries(cards).map(([name, [r]], i) => ({
      ...r,
      request_id: idOf(name),
      input_hash: `sha256:${idOf(name)}`,
      created_at: later() + i * 60,
    })),
    more,
  )
  for (const name of Object.keys(cards)) await expect(stage.page.locator(`[data-slot="${idOf(name)}"]`)).toBeVisible()
  // What can be denied takes a press: the first moment of every card is over.
  await expect(stage.page.locator('.card .deny[aria-disabled]')).toHaveCount(0)
}
const card = (page: Page, name: string) => page.locator(`[data-request-id="${idOf(name)}"]`)

/** Compares what is seen with the picture of that name, in both themes. */
async function expectLook(what: Locator, name: string): Promise<void> {
  const page = what.page()
  await page.evaluate(() => document.fonts.ready)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await expect.soft(what).toHaveScreenshot(`${name}-${colorScheme}.png`, {
      // A card that is off by a shade is off. The edges of letters may differ by a few points.
      threshold: 0.04,
      maxDiffPixels: 40,
    })
  }
}

/** High enough for all cards of a picture at once. */
const SHEET = { width: 1120, height: 6_400 }
const kinds = (...names: string[]) =>
  Object.fromEntries(names.map((name): [string, Card] => [name, KINDS[name] ?? [FORMS[name]!, null]]))

const before = lines(12, 'const line =')
const diff: Card = [
  tool(
    'Edit',
    { file_path: '/w/src/cart.ts', old_string: 'line = 6', new_string: 'total = 6 // cents' },
    { risk: 'low' },
  ),
  file({ line: 7, before, after: before.replace('const line = 6', 'const total = 6 // cents') }),
]
const bash: Card = [tool('Bash', { command: 'touch a', description: 'Make a file' }), command('low')]
const held = { by: 'ada', mine: true, decision: 'allow' } as const

test('every kind of card @newest @nightly', async ({ page, server }) => {
  const stage = await Stage.in(page)
  await page.setViewportSize(SHEET)
  await stage.open(server.url)
  await show(stage, {
    ...kinds('a command', 'a command with a rule', 'a command of high risk', 'a command that cannot be read'),
    'a change': diff,
    ...kinds('a new file', 'an edit of a text that is not there', 'a web page', 'a tool of an MCP server', 'a plan'),
  })
  await expectLook(page.locator('.cards'), 'calls')
  // In a page of its own: what has closed is told above the cards for some seconds.
  stage.show([])
  await stage.open(server.url)
  await show(
    stage,
    kinds('a question with one answer', 'four questions', 'a text for an agent', 'a page of an MCP server'),
  )
  await expectLook(page.locator('.cards'), 'questions')
})

test('every state of a card @newest', async ({ page, server }) => {
  const stage = await Stage.in(page)
  const until = Date.UTC(2099, 0, 1, 10, 42)
  await page.addInitScript(
    ([key, value]) => localStorage.setItem(key!, value!),
    [`sayso:snoozed:${stage.userID}`, JSON.stringify([['snoozed', until]])],
  )
  await page.setViewportSize(SHEET)
  await stage.open(server.url)
  const as = (more: Partial<Request>): Card => [{ ...bash[0], ...more }, bash[1]]
  const two = { effect: 'two_people', may: true } as const
  await show(stage, {
    denying: bash,
    editing: bash,
    'high risk': KINDS['a command of high risk']!,
    'a rule': KINDS['a command with a rule']!,
    snoozed: bash,
    'of a process that died': as({ status: 'orphaned' }),
    'of a subagent': as({ agent_id: 'a-1', agent_type: 'Reader' }),
    'approved by another': as({ approval: { ...two, first: { by: 'grace', at: 1_763_692_800, mine: false } } }),
    'nobody may approve': as({ approval: { effect: 'deny', may: false } }),
    'held by another': as({ held: { ...held, by: 'grace', mine: false, at: later(), until: later() + 5 } }),
    held: as({ held: { ...held, at: later(), until: later() + 5 } }),
    denied: as({ held: { ...held, decision: 'deny', at: later(), until: later() + 5 } }),
    'somebody else answers': bash,
  })
  stage.send({
    type: 'presence',
    session_id: stage.id,
    viewers: [{ name: 'grace', typing: true, request_id: 'somebody-else-answers' }],
  })
  await card(page, 'denying').getByRole('button', { name: 'Deny' }).click()
  await App.of(page).choose(card(page, 'editing'), 'Edit')
  await card(page, 'editing').getByRole('textbox').fill('touch b')
  await card(page, 'high risk').getByRole('button', { name: 'Approve' }).click()
  await card(page, 'a rule').getByText('Don’t ask again…').click()
  await expect(card(page, 'editing').getByRole('group', { name: 'Your changes' })).toBeVisible()
  await expect(page.getByText('grace is answering')).toBeVisible()
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
  await page.mouse.move(0, 0)
  await expectLook(page.locator('.cards'), 'states')
})

test('a card that closed, one that nobody confirms, a group, and nothing @newest @nightly', async ({
  page,
  server,
}) => {
  const stage = await Stage.in(page)
  await page.setViewportSize(SHEET)
  await stage.open(server.url)
  await show(stage, { closed: bash, sending: bash })
  await card(page, 'closed').getByRole('button', { name: 'Deny' }).click()
  // What was written for it keeps it in view.
  await card(page, 'closed').getByRole('textbox').fill('Not now.')
  stage.deaf = true
  await App.of(page).approve(card(page, 'sending'))
  stage.show([{ ...bash[0], request_id: 'sending', input_hash: 'sha256:sending', created_at: later() }])
  await expect(page.getByText('No confirmation yet')).toBeVisible({ timeout: 20_000 })
  await page.mouse.move(0, 0)
  await expectLook(page.locator('.cards'), 'closing')

  stage.show([])
  await stage.open(server.url)
  const at = later()
  stage.show(
    ['https://docs.example.com/a', 'https://docs.example.com/b', 'https://new.example.com/'].map((url, i) => ({
      ...tool('WebFetch', { url, prompt: 'What is it?' }, { risk: 'low' }),
      request_id: `page-${i}`,
      input_hash: `sha256:page-${i}`,
      created_at: at + i,
    })),
  )
  const group = page.getByRole('group', { name: 'Fetch 3 web pages' })
  await expect(group).toBeVisible()
  await expectLook(group, 'group')

  stage.show([], { state: 'dead' })
  await page.setViewportSize({ width: 1120, height: 700 })
  await page.goto(`${server.url}/inbox`)
  await expect(page.getByRole('heading', { name: 'You’re all caught up' })).toBeVisible()
  await expect(App.of(page).demoButton()).toBeVisible()
  await expectLook(page.locator('.caught'), 'caught-up')
})

test.describe('on a phone', () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true })

  test('a request from its bar to what comes after it @newest @nightly', async ({ page, server }) => {
    const stage = await Stage.in(page)
    const at = later()
    const as = ([request, preview]: Card, id: string, more: Partial<Request> = {}) => {
      if (preview) stage.previews.set(id, preview)
      return { ...request, request_id: id, input_hash: `sha256:${id}`, created_at: at, ...more }
    }
    stage.show([as(bash, 'a')])
    stage.showIn('s2', 'shop', [as(diff, 'b', { created_at: at + 60 })])
    await stage.open(server.url)
    const app = App.of(page)
    await expect(page.locator('.bar.one')).toBeVisible()
    await expectLook(page.locator('#app'), 'phone-session')
    await page.goto(`${server.url}/inbox/a`)
    await expect(app.approveButton(app.card())).not.toHaveAttribute('aria-disabled')
    await expectLook(page.locator('#app'), 'phone-card')
    stage.show([as(bash, 'a', { held: { ...held, at, until: at + 5 } })])
    await expect(page.getByRole('navigation', { name: 'Next in your inbox' })).toBeVisible()
    await expect(page.getByRole('button', { name: 'Undo' })).not.toHaveAttribute('aria-disabled')
    await expectLook(page.locator('#app'), 'phone-approved')
  })

  test('answered questions take one line after a deliberate step, and nothing moves before @newest', async ({
    page,
    server,
  }) => {
    const stage = await Stage.in(page)
    await stage.open(server.url)
    const asked = { ...FORMS['four questions']!, request_id: idOf('four questions'), created_at: later() }
    stage.show([asked])
    await App.of(page).review()
    const form = card(page, 'four questions')
    await expect(form.getByRole('button', { name: 'Decline' })).not.toHaveAttribute('aria-disabled')
    const summary = form.getByRole('radio', { name: 'Summary' })
    const web = form.getByRole('checkbox', { name: 'Web' })
    await summary.check()
    const place = await web.boundingBox()
    await web.check()
    expect(await web.boundingBox()).toEqual(place)
    await expect(summary).toBeVisible()

    await form.getByRole('button', { name: /^Name/ }).tap()
    await expect(form.getByRole('textbox')).toBeFocused()
    await expect(summary).toBeHidden()
    await expect(web).toBeHidden()
    await expectLook(page.locator('#app'), 'phone-questions')

    await form.getByRole('button', { name: /^Edit the answer to: Which \*\*format/ }).tap()
    await expect(summary).toBeFocused()
    await form.getByRole('radio', { name: 'Full text' }).check()
    await form.getByRole('button', { name: /^Sure/ }).tap()
    await expect(form.getByRole('paragraph').filter({ hasText: /^Full text$/ })).toBeVisible()

    // What was answered is told when the card is opened again.
    await page.reload()
    stage.show([asked])
    await App.of(page).review()
    await expect(form.getByRole('paragraph').filter({ hasText: /^Full text$/ })).toBeVisible()
    await expect(form.getByRole('radio')).toHaveCount(2)
  })
})

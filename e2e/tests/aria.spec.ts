import { writeFileSync } from 'node:fs'

import type { Locator } from '@playwright/test'

import { App } from '../app.ts'
import { command, FORMS, KINDS, tool } from '../../frontend/src/testcards.ts'
import type { Preview, ProcessState, Request } from '../../frontend/src/wire/messages.gen.ts'
import { expect, test } from '../fixtures.ts'
import { Stage } from '../stage.ts'

// Every kind of card, and every state of one, as somebody hears it who does not
// see it: roles, names, states and texts, in order. A change of these files is a
// change of what people are told; SAYSO_ARIA=write writes them anew.
test.use({ timezoneId: 'UTC' })

/** Until a card has said the same for longer than its buttons take no press. */
async function settled(what: Locator): Promise<void> {
  let was = { said: '', since: 0 }
  await expect
    .poll(
      async () => {
        const said = await what.ariaSnapshot()
        if (said !== was.said) was = { said, since: Date.now() }
        return Date.now() - was.since >= 1_000
      },
      { intervals: [100] },
    )
    .toBe(true)
}

const softly = expect.configure({ soft: true })
async function expectHeard(what: Locator, name: string): Promise<void> {
  const file = `${name.replaceAll(' ', '-')}.aria.yml`
  // --update-snapshots would wait its patience out for each, and put patterns for our numbers.
  if (process.env.SAYSO_ARIA === 'write') {
    await settled(what)
    // Nobody wants to keep a megabyte; how many lines are below, the fonts of a machine decide.
    const heard = (await what.ariaSnapshot())
      .replace(/(?<=: )x{1000,}$/m, (all) => `/^x{${all.length}}$/`)
      .replace(/Scroll to the end to approve \(.*\)/, '/Scroll to the end to approve \\(\\d+ more lines\\)/')
      .replace(/"\d+ more lines"/, '/\\d+ more lines/')
    writeFileSync(test.info().snapshotPath(file, { kind: 'aria' }), heard + '\n')
  } else await softly(what, name).toMatchAriaSnapshot({ name: file })
}

/** Shows requests, each under the name that its snapshot has; and their cards by these names, once they take decisions. */
async function shown(
  stage: Stage,
  all: Record<string, [Request, Preview | null]>,
  more: Partial<ProcessState> = {},
): Promise<(name: string) => Locator> {
  const id = (name: string) => name.replaceAll(' ', '-')
  for (const [name, [, preview]] of Object.entries(all)) if (preview) stage.previews.set(id(name), preview)
  // What was asked later than now has waited for 0 s, however slow the machine.
  const created_at = Date.now() / 1000 + 3_600
  stage.show(
    Object.entries(all).map(([name, [r]]) => ({
      ...r,
      request_id: id(name),
      input_hash: `sha256:${id(name)}`,
      created_at,
    })),
    more,
  )
  const card = (name: string) => stage.page.locator(`[data-request-id="${id(name)}"]`)
  for (const name of Object.keys(all))
    await expect(card(name).getByRole('button', { name: /^(Deny|Decline|Keep planning)$/ })).not.toHaveAttribute(
      'aria-disabled',
    )
  return card
}

// So many cards have their ends on the screen at once.
const TALL = { width: 1280, height: 12_000 }
const DESK = { width: 1280, height: 800 }
const LONG = /200 lines|500 lines|1 MB/

test('every kind of card has its accessibility tree @newest', async ({ page, server }) => {
  const stage = await Stage.in(page)
  await page.setViewportSize(TALL)
  await stage.open(server.url)

  const all: [string, [Request, Preview | null]][] = [
    ...Object.entries(KINDS),
    ...Object.entries(FORMS).map(([name, r]): [string, [Request, null]] => [name, [r, null]]),
  ]
  const short = all.filter(([name]) => !LONG.test(name))
  for (let at = 0; at < short.length; at += 8) {
    const some = short.slice(at, at + 8)
    const card = await shown(stage, Object.fromEntries(some))
    for (const [name] of some) await expectHeard(card(name), name)
  }
  // One whose end is not on the screen says so.
  await page.setViewportSize(DESK)
  for (const [name, kind] of all.filter(([name]) => LONG.test(name))) {
    const card = await shown(stage, { [name]: kind })
    await expectHeard(card(name), name)
  }
})

test('every state of a card has its accessibility tree @newest @nightly', async ({ page, server }) => {
  const stage = await Stage.in(page)
  await page.setViewportSize(TALL)
  await stage.open(server.url)

  // What a person does in it.
  const bash: [Request, Preview] = [tool('Bash', { command: 'touch a', description: 'Make a file' }), command('low')]
  const form: [Request, null] = [FORMS['a question with one answer']!, null]
  let card = await shown(stage, {
    denying: bash,
    editing: bash,
    'raw JSON': bash,
    'high risk confirmed': KINDS['a command of high risk']!,
    'a rule chosen': KINDS['a command with a rule']!,
    'another answer': form,
    declining: form,
  })
  await card('denying').getByRole('button', { name: 'Deny' }).click()
  await App.of(page).choose(card('editing'), 'Edit')
  await card('editing').getByRole('textbox').fill('touch b')
  await App.of(page).choose(card('raw JSON'), 'Raw JSON')
  await card('high risk confirmed').getByRole('button', { name: 'Approve' }).click()
  await card('a rule chosen').getByText('Don’t ask again…').click()
  await card('a rule chosen').getByRole('radio').last().check()
  await card('another answer').getByText('Other', { exact: true }).click()
  await card('another answer').getByRole('textbox').fill('A poem')
  await card('declining').getByRole('button', { name: 'Decline' }).click()
  for (const name of [
    'denying',
    'editing',
    'raw JSON',
    'high risk confirmed',
    'a rule chosen',
    'another answer',
    'declining',
  ])
    await expectHeard(card(name), name)

  // What others do with it.
  const with_ = (more: Partial<Request>): [Request, Preview] => [{ ...bash[0], ...more }, command('low')]
  const two = { effect: 'two_people', may: true } as const
  card = await shown(
    stage,
    {
      'two people must approve': with_({ approval: two }),
      'approved by another': with_({ approval: { ...two, first: { by: 'grace', at: 1_763_692_800, mine: false } } }),
      'approved by me': with_({ approval: { ...two, first: { by: 'ada', at: 1_763_692_800, mine: true } } }),
      'nobody may approve': with_({ approval: { effect: 'deny', may: false } }),
      'only some may approve': with_({ approval: { effect: 'allow', may: false, people: ['grace', 'linus'] } }),
      'of a subagent': with_({ agent_id: 'a-1', agent_type: 'Reader' }),
      'of a process that died': with_({ status: 'orphaned' }),
      'asked differently before': with_({
        earlier: {
          request_id: 'e',
          tool_input: { command: 'touch c' },
          outcome: 'answered',
          summary: 'Approved',
          by: 'Ada',
          at: 1_763_692_804,
        },
      }),
      'somebody else answers': bash,
    },
    { project_name: 'api-server' },
  )
  stage.send({
    type: 'presence',
    session_id: stage.id,
    viewers: [{ name: 'grace', typing: true, request_id: 'somebody-else-answers' }],
  })
  await expect(card('somebody else answers').getByText('grace is answering')).toBeVisible()
  for (const name of [
    'two people must approve',
    'approved by another',
    'approved by me',
    'nobody may approve',
    'only some may approve',
    'of a subagent',
    'of a process that died',
    'asked differently before',
    'somebody else answers',
  ]) {
    await expectHeard(card(name), name)
  }

  // On its way, and not yet confirmed.
  stage.deaf = true
  card = await shown(stage, { 'on its way': bash })
  await card('on its way').getByRole('button', { name: 'Approve' }).click()
  await expect(card('on its way').getByText('No confirmation yet. Still trying.')).toBeVisible()
  await expectHeard(card('on its way'), 'on its way')
  stage.deaf = false

  // And what stays of it in the transcript.
  stage.show([])
  const at = 1_763_692_804
  const was = {
    kind: 'resolved',
    request_type: 'tool_approval',
    tool_name: 'Bash',
    tool_input: { command: 'touch a' },
    by: 'ada',
    device: 'Chrome on Linux',
    waited: 3.5,
    at,
  } as const
  stage.say(
    { ...was, request_id: 'r1', outcome: 'answered', summary: 'Approved' },
    { ...was, request_id: 'r2', outcome: 'answered', summary: 'Approved', edited: true, by: 'grace' },
    { ...was, request_id: 'r3', outcome: 'denied', summary: 'Denied', message: 'Use pnpm, not npm.' },
    { ...was, request_id: 'r4', outcome: 'answered', summary: 'Approved', carried: true },
    { ...was, request_id: 'r5', outcome: 'withdrawn', summary: 'Claude withdrew it', by: undefined, device: undefined },
    {
      ...was,
      request_id: 'r6',
      request_type: 'ask_user_question',
      tool_name: 'AskUserQuestion',
      tool_input: {},
      outcome: 'answered',
      summary: 'Format → Summary',
    },
    {
      ...was,
      request_id: 'r7',
      request_type: 'ask_user_question',
      source: 'mcp',
      tool_name: 'ask_user',
      tool_input: {},
      outcome: 'expired',
      summary: 'Time ran out',
      by: undefined,
      device: undefined,
    },
    {
      ...was,
      request_id: 'r8',
      tool_name: 'ExitPlanMode',
      tool_input: { plan: '# Plan' },
      outcome: 'answered',
      summary: 'Plan approved',
    },
  )
  await expect(page.getByRole('feed').getByText('Time ran out')).toBeVisible()
  await expectHeard(page.getByRole('feed'), 'what was decided')
})

test('a viewer gets no buttons @newest', async ({ page, server }) => {
  const stage = await Stage.in(page)
  stage.user = { name: 'eve', role: 'viewer' }
  await stage.open(server.url)
  stage.show([{ ...FORMS['a question with one answer']!, created_at: Date.now() / 1000 + 3_600 }])
  const card = page.locator('[data-request-id]')
  await expect(card).toBeVisible()
  await expectHeard(card, 'for a viewer')
})

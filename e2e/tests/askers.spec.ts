import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { App } from '../app.ts'
import { awayMessages, expect, test } from '../fixtures.ts'
import { root } from '../machine.ts'
import { ask, bash, prompt, question, text, tool } from '../script.ts'
import { startServer } from '../server.ts'
import { REST } from '../wire.ts'

const sayso = (name: string, input: Record<string, unknown>) => tool(`mcp__sayso__${name}`, input)
const heard = [text('Heard: {{tool_results}}')]

// One conversation: what the CLI and the page cost is paid once.
test('ask_user and ask_question: one question, several of every kind, only the offered options, declined', async ({
  page,
  folder,
  rest,
}) => {
  const answer = (which: string) => text(`${which} answer: {{tool_results}}`)
  const id = await rest.start(
    prompt(
      'Ask.',
      [
        sayso('ask_user', {
          question: 'Which **database**?',
          options: [{ label: 'SQLite', description: 'One `file`' }, { label: 'PostgreSQL' }],
        }),
      ],
      [
        answer('First'),
        sayso('ask_user', {
          title: 'Release',
          timeout: 600_000,
          questions: [
            { id: 'name', question: 'What is it called?', type: 'text', placeholder: 'v1.2' },
            { id: 'style', question: 'Which styling?', type: 'select', options: ['CSS Modules', 'Plain CSS'] },
            {
              id: 'features',
              question: 'Which features?',
              type: 'multi-select',
              options: ['Loading', 'Errors', 'Animation'],
              required: false,
            },
            { id: 'sure', question: 'Publish it?', type: 'confirm' },
          ],
        }),
      ],
      [
        answer('Second'),
        sayso('ask_question', {
          question: 'Ship it?',
          options: [
            { value: 'go', label: 'Ship' },
            { value: 'wait', label: 'Wait' },
          ],
          allow_free_text: false,
        }),
      ],
      [answer('Third'), sayso('ask_user', { questions: [{ question: 'Name?' }] })],
      [answer('Fourth')],
    ),
    { cwd: folder, title: 'Databases' },
  )
  const app = await App.openSession(page, id)

  await test.step('answer one question in the browser, and the agent gets text', async () => {
    const card = app.card('Which database?')
    await expect(card).toHaveAccessibleName('Claude has a question')
    await expect(card).toContainText('Claude in Databases')
    await expect(card.locator('strong', { hasText: 'database' })).toBeVisible()
    await card.getByRole('radio', { name: 'PostgreSQL' }).check()
    await app.submit(card)
    await expect(app.said('First answer: User selected: PostgreSQL')).toBeVisible()
    await expect(card).toHaveCount(0)
  })

  await test.step('answer several questions of every kind', async () => {
    const card = app.card('What is it called?')
    await expect(card).toHaveAccessibleName('Release')
    await expect(card.getByText('0 of 4 answered')).toBeVisible()
    await expect(card.getByText(/^expires in \d+:\d\d$/)).toBeVisible()
    await expect(app.question(card, 'Which features?')).toContainText('(optional)')
    await app.question(card, 'What is it called?').getByRole('textbox').fill('v2')
    await app.question(card, 'Which styling?').getByRole('radio', { name: 'Plain CSS' }).check()
    for (const feature of ['Loading', 'Animation'])
      await app.question(card, 'Which features?').getByRole('checkbox', { name: feature }).check()
    await expect(app.submitButton(card)).toHaveAttribute('aria-disabled', 'true')
    await app.question(card, 'Publish it?').getByText('No', { exact: true }).click()
    await app.submit(card)
    await expect(app.said(/"questionId":\s*"features",\s*"values":\s*\[\s*"Loading",\s*"Animation"\s*\]/)).toBeVisible()
    await expect(app.said(/"questionId":\s*"sure",\s*"values":\s*\[\s*"no"\s*\]/)).toBeVisible()
  })

  await test.step('ask_question accepts only the offered options', async () => {
    const card = app.card('Ship it?')
    await expect(card.getByRole('radio')).toHaveCount(2)
    await card.getByRole('radio', { name: 'Ship' }).check()
    await app.submit(card)
    await expect(app.said(/Third answer: .*go/)).toBeVisible()
  })

  await test.step('decline, and the agent is told that the request was canceled', async () => {
    await app.decline(app.card('Name?'), 'not now')
    await expect(app.said(/Fourth answer: .*"cancelled":\s*true/s)).toBeVisible()
    await expect(app.cards()).toHaveCount(0)
  })
})

test('a question that expires while a person types keeps the text, which is sent as a message @newest @nightly', async ({
  page,
  folder,
  rest,
}) => {
  // The time runs from the question on, so the page is there before it.
  const id = await rest.start(prompt('Hello.', [text('Hello.')]), { cwd: folder })
  const app = await App.openSession(page, id)
  await expect(app.said('Hello.')).toBeVisible()
  await app.send(
    prompt(
      'Ask.',
      [sayso('ask_user', { timeout: 20_000, questions: [{ id: 'why', question: 'Why so?', type: 'text' }] })],
      heard,
    ),
  )
  const field = app.card().getByRole('textbox', { name: 'Why so?' })
  await field.fill('Because it is')
  await field.press('End')
  await expect(app.cards()).toHaveCount(0, { timeout: 60_000 })
  const notice = page.getByRole('group', { name: /^No longer open/ })
  await expect(notice).toContainText(/Time ran out at .*\. Claude continued without an answer\./)
  await expect(notice).toContainText('Because it is')
  await expect(notice).toBeFocused()
  await page.keyboard.type(' late')
  await page.keyboard.press('Enter')
  await expect(app.composer()).toHaveValue('')
  await expect(app.said(/"timedOut":\s*true/)).toBeVisible()
  await notice.getByRole('button', { name: 'Send as message' }).click()
  await expect(page.getByRole('feed').locator('.row.user').getByText('Because it is')).toBeVisible()
  await expect(notice).toHaveCount(0)
})

test('a deadline is extended by five minutes in every tab @newest', async ({ page, context, folder, rest }) => {
  const id = await rest.start(
    prompt('Ask.', [sayso('ask_user', { timeout: 60_000, questions: [{ question: 'Why so?', type: 'text' }] })], heard),
    { cwd: folder },
  )
  const desk = await App.openSession(page, id)
  const phone = await App.openSession(await context.newPage(), id)
  await expect(phone.card()).toContainText(/expires in \d:\d\d/)
  await desk.card().getByRole('button', { name: '+5 minutes' }).click()
  for (const app of [desk, phone]) await expect(app.card()).toContainText(/expires in 5:\d\d/)
  await phone.card().getByRole('textbox', { name: 'Why so?' }).fill('Because')
  await phone.submit(phone.card())
  await expect(desk.said(/Heard: .*Because/)).toBeVisible()
})

test('several askers at once have a form each', async ({ page, folder, rest }) => {
  const id = await rest.start(
    prompt(
      'Ask.',
      [
        ask(question('Which format?', 'Format', ['Summary', 'Detailed'])),
        sayso('ask_user', { questions: [{ question: 'Name of the release?', type: 'text' }] }),
        sayso('ask_question', { question: 'Anything else?' }),
        bash('touch made'),
      ],
      heard,
    ),
    { cwd: folder, title: 'Many' },
  )
  const app = await App.openSession(page, id)
  // The command waits for what was asked beside it.
  await expect(app.cards()).toHaveCount(3)
  await expect(app.cards().getByText('Claude in Many')).toHaveCount(3)
  const own = app.card('Anything else?')
  await app.card('Name of the release?').getByRole('textbox').fill('v2')
  await own.getByRole('textbox').fill('No')
  await app.submit(own)
  await expect(app.cards()).toHaveCount(2)
  await expect(app.card('Name of the release?').getByRole('textbox')).toHaveValue('v2')
  await app.submit(app.card('Name of the release?'))
  await expect(app.cards()).toHaveCount(1)
  await app.card('Which format?').getByRole('radio', { name: 'Summary' }).check()
  await app.submit(app.card('Which format?'))
  await app.approve(app.card('touch made'))
  await expect(app.said('Heard: ')).toBeVisible()
  await expect(app.said(/v2/)).toBeVisible()
})

test('the progress of an agent is shown above its session, also after a reload', async ({ page, folder, rest }) => {
  const id = await rest.start(
    prompt(
      'Report.',
      [
        sayso('submit_lifecycle_event', {
          event_type: 'plan-started',
          phase_name: 'Hook Bridge',
          phase_number: '33',
          step: 2,
          total_steps: 5,
        }),
      ],
      [text('Reported.')],
    ),
    { cwd: folder },
  )
  const app = await App.openSession(page, id)
  const bar = page.getByRole('status', { name: 'Session progress' })
  await expect(bar).toContainText('Plan started')
  await expect(bar).toContainText('Phase 33: Hook Bridge')
  await expect(bar).toContainText('step 2 of 5')
  await expect(app.said('Reported.')).toBeVisible()
  await page.reload()
  await expect(bar).toContainText('step 2 of 5')
})

test('an MCP server elicits through Claude: a number with bounds, a default, an optional answer', async ({
  page,
  claudePath,
  model,
  request,
  signIn,
}) => {
  const server = await startServer({
    claudePath,
    modelURL: model.url,
    mcpServers: { billing: { command: process.execPath, args: [`${root}e2e/elicitor.mjs`] } },
  })
  try {
    await signIn(page.context(), server)
    const rest = new REST(request, server)
    const id = await rest.start(
      prompt(
        'Ask.',
        [
          tool('mcp__billing__elicit', {
            message: 'Where does the **bill** go?',
            requestedSchema: {
              type: 'object',
              required: ['email', 'day'],
              properties: {
                email: { type: 'string', format: 'email', title: 'Address' },
                day: { type: 'integer', minimum: 1, maximum: 31, default: 1, title: 'Day of the month' },
                paper: { type: 'boolean', title: 'On paper?' },
              },
            },
          }),
        ],
        heard,
      ),
      {
        cwd: mkdtempSync(join(server.workspace, 'project-')),
        title: 'Billing',
        allowed_tools: ['mcp__billing__elicit'],
      },
    )
    const app = await App.openSession(page, id, server.url)
    const card = app.card()
    await expect(card).toHaveAccessibleName('An MCP server requests input')
    await expect(card).toContainText('MCP server billing through Claude')
    await expect(card.locator('strong', { hasText: 'bill' })).toBeVisible()
    await expect(app.question(card, 'Day of the month')).toContainText('A whole number from 1 to 31')
    const day = card.getByRole('textbox', { name: 'Day of the month' })
    await expect(day).toHaveValue('1')
    await day.fill('32')
    await card.getByRole('textbox', { name: 'Address' }).fill('ada@example.org')
    await expect(card.getByText('Enter 31 or less.')).toBeVisible()
    await expect(app.submitButton(card)).toHaveAttribute('aria-disabled', 'true')
    await day.fill('12')
    await app.submit(card)
    await expect(app.said(/"action":"accept"/)).toBeVisible()
    await expect(app.said(/"day":12/)).toBeVisible()
    await expect(app.said(/"email":"ada@example.org"/)).toBeVisible()
  } finally {
    await page.close()
    await server.stop()
  }
})

test('AskUser and an approval over MCP, one after the other, with their count @nightly', async ({
  page,
  folder,
  rest,
}) => {
  const id = await rest.start(
    prompt(
      'Ask.',
      [sayso('AskUser', { question: 'Which name?' })],
      [sayso('approval_prompt', { tool_name: 'Deploy', input: { target: 'staging' }, tool_use_id: 'elsewhere-1' })],
      [sayso('get_phase_status', {})],
      heard,
    ),
    { cwd: folder, title: 'Tools' },
  )
  const app = await App.openSession(page, id)
  const field = app.card('Which name?').getByRole('textbox')
  await field.fill('heron')
  await app.submit(app.card('Which name?'))
  const approval = app.card('staging')
  await expect(approval).toContainText('Deploy')
  await app.approve(approval)
  await expect(app.said(/"pendingQuestions":\s*0/)).toBeVisible()
  const resolved = (await rest.transcript(id)).filter((i) => i.kind === 'resolved')
  expect(resolved).toHaveLength(2)
})

test('after a crash of the server with an open MCP question, the form is back and the answer is delivered once @nightly', async ({
  page,
  context,
  claudePath,
  model,
  request,
  signIn,
}) => {
  for (const description of awayMessages) test.info().annotations.push({ type: 'allowed on the console', description })
  const server = await startServer({ claudePath, modelURL: model.url })
  try {
    await signIn(context, server)
    const rest = new REST(request, server)
    const id = await rest.start(prompt('Ask.', [sayso('ask_user', { question: 'Which branch?' })], heard), {
      title: 'Branches',
    })
    const app = await App.openSession(page, id, server.url)
    await expect(app.cards()).toHaveCount(1)
    const before = (await rest.state(id)).pending_requests[0].request_id
    await server.crash()
    expect((await rest.state(id)).pending_requests[0].request_id).toBe(before)
    await app.card().getByRole('textbox').fill('main')
    await app.submit(app.card())
    await expect(app.said('Heard: User selected: main')).toBeVisible()
    expect((await rest.transcript(id)).filter((i) => i.kind === 'resolved')).toHaveLength(1)
  } finally {
    await page.close()
    await server.stop()
  }
})

test('a call that Claude cancels closes its form, and the draft is kept @nightly', async ({
  page,
  context,
  claudePath,
  model,
  request,
  signIn,
}) => {
  // A CLI that waits for an answer over MCP no longer than fifteen seconds.
  const impatient = join(mkdtempSync(join(tmpdir(), 'sayso-e2e-')), 'claude')
  writeFileSync(
    impatient,
    `#!/bin/sh
for a in "$@"; do
  case "$a" in --mcp-config=*) f=\${a#--mcp-config=}; sed 's/2000000000/15000/' "$f" >"$f.cut" && mv "$f.cut" "$f" ;; esac
done
exec "${claudePath}" "$@"
`,
    { mode: 0o700 },
  )
  const server = await startServer({ claudePath: impatient, modelURL: model.url })
  try {
    await signIn(context, server)
    const rest = new REST(request, server)
    const id = await rest.start(prompt('Hello.', [text('Hello.')]), { title: 'Impatient' })
    const app = await App.openSession(page, id, server.url)
    await expect(app.said('Hello.')).toBeVisible()
    await app.send(prompt('Ask.', [sayso('ask_user', { question: 'In time?' })], heard))
    await app.card().getByRole('textbox').fill('Nearly')
    await expect(app.cards()).toHaveCount(0, { timeout: 60_000 })
    const notice = page.getByRole('group', { name: /^No longer open/ })
    await expect(notice).toContainText('Nearly')
    await expect(notice).toContainText(/canceled its question|stopped waiting/)
    await expect(app.said(/^Heard: /)).toBeVisible()
    expect((await rest.state(id)).pending_requests).toEqual([])
  } finally {
    await page.close()
    await server.stop()
    rmSync(dirname(impatient), { recursive: true })
  }
})

test('an MCP server asks for a page to be opened: its URL is text, and Done tells the server @nightly', async ({
  page,
  claudePath,
  model,
  request,
  signIn,
}) => {
  const server = await startServer({
    claudePath,
    modelURL: model.url,
    mcpServers: { billing: { command: process.execPath, args: [`${root}e2e/elicitor.mjs`] } },
  })
  try {
    await signIn(page.context(), server)
    const rest = new REST(request, server)
    const id = await rest.start(
      prompt(
        'Ask.',
        [
          tool('mcp__billing__elicit', {
            mode: 'url',
            elicitationId: 'e-1',
            url: 'https://example.org/pay?x=1',
            message: 'Pay there.',
          }),
        ],
        heard,
      ),
      { title: 'Billing', allowed_tools: ['mcp__billing__elicit'] },
    )
    const app = await App.openSession(page, id, server.url)
    if (test.info().project.name.endsWith('2.1.197')) {
      await expect(app.said(/does not support URL-mode/)).toBeVisible() // this CLI knows no such thing
      return
    }
    const card = app.card()
    await expect(card).toHaveAccessibleName('An MCP server wants you to open a page')
    await expect(card).toContainText('MCP server billing through Claude')
    await expect(card.getByText('https://example.org/pay?x=1')).toBeVisible()
    await expect(card.getByRole('link')).toHaveAttribute('rel', 'noopener noreferrer')
    await card.getByRole('button', { name: 'Done' }).click()
    await expect(app.said(/"action":"accept"/)).toBeVisible()
    await expect(app.cards()).toHaveCount(0)
  } finally {
    await page.close()
    await server.stop()
  }
})

// What an agent outside asks; the returned promise is what it is told.
function agentAsks(url: string, secret: string, id: number, name: string, input: object): Promise<string> {
  return fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${secret}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name, arguments: input, _meta: { progressToken: id } },
    }),
  }).then((answer) => answer.text())
}

test('an external agent asks two questions at once, and its session accepts only answers', async ({
  page,
  server,
  rest,
}) => {
  const secret = server.agentToken('Reviewer')
  const merge = agentAsks(server.url, secret, 1, 'ask_question', {
    question: 'May I merge?',
    options: [
      { value: 'yes', label: 'Merge' },
      { value: 'no', label: 'Wait' },
    ],
  })
  const title = agentAsks(server.url, secret, 2, 'ask_user', { questions: [{ question: 'Under which title?' }] })
  await expect
    .poll(async () => (await rest.get<{ pending_requests: unknown[] }>('/api/pending')).pending_requests.length)
    .toBeGreaterThanOrEqual(2)
  const here = await App.home(page, server.url)
  await here
    .waitingForYou()
    .filter({ hasText: /Reviewer/ })
    .click()
  await expect(here.cards()).toHaveCount(2)
  await expect(here.cards().getByText('agent Reviewer over MCP')).toHaveCount(2)
  await expect(page.getByText('An agent outside sayso.')).toBeVisible()
  await expect(here.composer()).toHaveCount(0)
  for (const name of ['Interrupt', 'Resume'])
    await expect(page.getByRole('button', { name, exact: true })).toHaveCount(0)
  await here.moreButton().click()
  await expect(page.getByRole('button', { name: 'Session details' }).last()).toBeVisible()
  await expect(page.getByRole('button', { name: 'Kill…' })).toHaveCount(0)
  await page.keyboard.press('Escape')
  await here.card('Under which title?').getByRole('textbox').fill('Fix the login')
  await here.submit(here.card('Under which title?'))
  expect(await title).toContain('Fix the login')
  await expect(here.cards()).toHaveCount(1)
  await here.card('May I merge?').getByRole('radio', { name: 'Wait' }).check()
  await here.submit(here.card('May I merge?'))
  expect(await merge).toContain('no')
  await expect(here.cards()).toHaveCount(0)
  await expect(page.getByText('No open requests', { exact: true }).filter({ visible: true }).first()).toBeVisible()
})

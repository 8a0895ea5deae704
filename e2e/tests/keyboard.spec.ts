import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'

import { FORMS, KINDS } from '../../frontend/src/testcards.ts'
import { App } from '../app.ts'
import { expect, test as shared } from '../fixtures.ts'
import { Hands } from '../hands.ts'
import { program } from '../machine.ts'
import { type Server, startServer } from '../server.ts'
import { token } from '../token.ts'
import { Stage } from '../stage.ts'
import { REST } from '../wire.ts'

// Every flow with keys alone. The CLI is the scripted one: what is looked at is the app.
const test = shared.extend<{ own: Server; hands: Hands }>({
  own: async ({ model }, use) => {
    const server = await startServer({ claudePath: program('claudetest'), modelURL: model.url })
    await use(server)
    await server.stop()
  },
  rest: async ({ own, request }, use) => use(new REST(request, own)),
  folder: async ({ own }, use) => use(mkdtempSync(join(own.workspace, 'project-'))),
  page: async ({ page, context, signIn, own }, use) => {
    await signIn(context, own)
    await use(page)
    // Before the server that it belongs to.
    await page.close()
  },
  hands: async ({ page }, use) => use(await Hands.on(page)),
})

// What stays after a decision is left by keys, too.
shared.use({ goesOn: false })
test.use({ goesOn: false })

/** A prompt that brings its own steps; the language is that of claude/claudetest. */
const steps = (words: string, ...turn: object[]) => `${words}\n\n\`\`\`claudetest\n${JSON.stringify({ turn })}\n\`\`\``
const asks = (tool_name: string, input: object) => ({ ask: { tool_name, input } })
const bash = (command: string) => asks('Bash', { command })
const plan = (title: string) => asks('ExitPlanMode', { plan: `# ${title}\n\n1. First` })
const elicits = {
  raw: JSON.stringify({
    type: 'control_request',
    request_id: 'e1',
    request: {
      subtype: 'elicitation',
      mcp_server_name: 'billing',
      message: 'Where does the bill go?',
      mode: 'form',
      requested_schema: {
        type: 'object',
        required: ['email'],
        properties: {
          email: { type: 'string', format: 'email', title: 'Address' },
          paper: { type: 'boolean', title: 'On paper?' },
        },
      },
    },
  }),
}

test('keyboard only: every decision @newest @browsers', async ({ page, hands, folder, rest, own }) => {
  const id = await rest.start(
    steps(
      'Ask everything.',
      bash('touch approved'),
      bash('touch asked'),
      bash('touch denied'),
      bash('rm -rf build'),
      bash('rm -rf dist'),
      bash('rm -rf out'),
      plan('First plan'),
      plan('Second plan'),
      plan('Third plan'),
      asks('AskUserQuestion', {
        questions: [
          {
            question: 'Which format?',
            header: 'Format',
            multiSelect: false,
            options: [
              { label: 'Summary', description: 'Short' },
              { label: 'Table', description: 'Wide' },
            ],
          },
          {
            question: 'Which parts?',
            header: 'Parts',
            multiSelect: true,
            options: [
              { label: 'Web', description: 'w' },
              { label: 'Server', description: 's' },
            ],
          },
          {
            question: 'Which name?',
            header: 'Name',
            multiSelect: false,
            options: [
              { label: 'Heron', description: 'h' },
              { label: 'Crane', description: 'c' },
            ],
          },
        ],
      }),
      asks('WebFetch', { url: 'http://127.0.0.1:9/', prompt: 'What is it?' }),
      bash('touch interrupted'),
      { text: 'Not reached.' },
    ),
    { cwd: folder, title: 'Everything' },
  )
  const app = await App.openSession(page, id, own.url)
  // A card never takes the focus by itself, and takes no key in its first moment.
  const ready = async (words: string, button: RegExp, go: () => Promise<void> = () => page.keyboard.press('Alt+.')) => {
    const card = app.card(words)
    await expect(card).toBeVisible()
    await go()
    await expect(card).toBeFocused()
    await expect(card.getByRole('button', { name: button }).first()).not.toHaveAttribute('aria-disabled')
    await hands.seen()
    return card
  }
  await ready('touch approved', /^Approve$/)
  await page.keyboard.press('y')

  await ready('touch asked', /^Approve$/)
  await hands.press('e')
  await hands.write('touch edited')
  await expect(app.card().getByText('added: edited')).toBeAttached()
  await expect(app.approveButton(app.card())).not.toHaveAttribute('aria-disabled')
  await page.keyboard.press('Control+Enter')

  await ready('touch denied', /^Deny$/)
  await hands.press('n')
  await hands.type('Use pnpm')
  await page.keyboard.press('Control+Enter')

  // What can do much harm is held, or its dangerous word is typed.
  const risky = await ready('rm -rf build', /^Approve…$/)
  await expect(risky.getByText('High risk').first()).toBeVisible()
  await hands.activate(app.approveButton(risky))
  await expect(risky.getByRole('textbox', { name: /^Type “rm -rf”/ })).toBeFocused()
  await hands.type('rm -rf')
  await expect(risky.getByRole('button', { name: 'Approve', exact: true })).not.toHaveAttribute('aria-disabled')
  await page.keyboard.press('Enter')

  const dist = await ready('rm -rf dist', /^Approve…$/)
  await hands.activate(app.approveButton(dist))
  const holds = dist.getByRole('button', { name: 'Hold to approve' })
  await hands.to(holds)
  await expect(holds).not.toHaveAttribute('aria-disabled')
  // What fills it is not its key, which stays beside the label.
  const hint = await holds.evaluate((el) => {
    const { content, position } = getComputedStyle(el, '::after')
    return [content !== 'none', position] // Firefox names the attribute, Chromium its value
  })
  expect(hint).toEqual([true, 'static'])
  await page.keyboard.down('Space')
  await expect(dist).toHaveCount(0)
  // A key repeats for as long as it is held, wherever the focus is by then.
  await page.keyboard.down('Space')
  await page.keyboard.up('Space')
  const out = await ready('rm -rf out', /^Approve…$/)
  await page.keyboard.down('y')
  await expect(out).toHaveCount(0)
  await page.keyboard.down('y')
  await page.keyboard.up('y')
  await expect(app.composer()).toHaveValue('')

  await ready('First plan', /^Keep planning$/)
  await hands.press('n')
  await hands.type('Say more')
  await page.keyboard.press('Control+Enter')
  const second = await ready('Second plan', /^Keep planning$/)
  await hands.activate(second.getByRole('button', { name: 'Other ways to approve' }))
  const accept = second.getByRole('button', { name: 'Approve and accept edits' })
  await expect(accept).not.toHaveAttribute('aria-disabled')
  await hands.activate(accept)
  await ready('Third plan', /^Approve and ask/)
  await page.keyboard.press('y')

  const form = await ready('Which format?', /^Decline$/)
  await hands.press('2')
  await expect(form.getByRole('radio', { name: 'Table' })).toBeChecked()
  await hands.to(form.getByRole('checkbox', { name: 'Web' }))
  await hands.press('1', '2')
  await expect(form.getByRole('checkbox', { name: 'Server' })).toBeChecked()
  await hands.to(form.getByRole('radio', { name: 'Heron' }))
  await hands.press('0')
  await hands.type('Stork')
  await page.keyboard.press('Control+Enter')

  const fetch = await ready('127.0.0.1:9', /^Approve$/)
  await hands.press('v')
  await expect(fetch.getByText('"prompt"')).toBeVisible()
  await hands.press('v', 'n', 'Escape')
  await expect(fetch).toBeFocused()
  await expect(fetch.getByRole('button', { name: 'Approve', exact: true })).not.toHaveAttribute('aria-disabled')
  await page.keyboard.press('y')

  await ready('touch interrupted', /^Deny$/)
  await page.keyboard.press('Shift+N')
  await expect(app.cards()).toHaveCount(0)
  await expect(app.composer()).toBeFocused()
  await hands.seen('after an interrupt')

  await page.keyboard.insertText(steps('And a form.', elicits, { silent: true }))
  await page.keyboard.press('Enter')
  const mcp = await ready('On paper?', /^Decline$/)
  await hands.to(mcp.getByRole('textbox', { name: 'Address' }))
  await hands.type('ada@example.org')
  await hands.to(mcp.getByRole('radio', { name: 'Yes' }))
  await hands.press('Space')
  await expect(app.submitButton(mcp)).not.toHaveAttribute('aria-disabled')
  await page.keyboard.press('Control+Enter')
  await expect(app.cards()).toHaveCount(0)
  await hands.seen('after the last answer')

  const decided = (await rest.transcript(id)).filter((i) => i.kind === 'resolved')
  expect(decided.map((i) => [i.outcome, i.edited ?? false])).toEqual([
    ['answered', false],
    ['answered', true],
    ['denied', false],
    ['answered', false],
    ['answered', false],
    ['answered', false],
    ['denied', false],
    ['answered', false],
    ['answered', false],
    ['answered', false],
    ['answered', false],
    ['denied', false],
    ['answered', false],
  ])
  const all = JSON.stringify(decided)
  for (const words of ['Use pnpm', 'Say more', 'Table', 'Web, Server', 'Stork']) expect(all).toContain(words)
})

test('keyboard only: a session from start to end @newest @nightly', async ({
  page,
  hands,
  folder,
  rest,
  own,
  playwright,
}) => {
  const http = await playwright.request.newContext({ extraHTTPHeaders: { Authorization: `Bearer ${token}` } })
  await http.post(`${own.url}/api/users`, { data: { name: 'Grace', role: 'admin', password: 'four words of hers' } })
  await http.dispose()
  await page.context().clearCookies()
  await page.goto(`${own.url}/sign-in`)
  await hands.to(page.getByLabel('Name', { exact: true }))
  await hands.type('Grace')
  await hands.to(page.getByLabel('Password', { exact: true }))
  await hands.type('four words of hers')
  await page.keyboard.press('Enter')
  await App.expectSignedIn(page)
  const app = App.of(page)

  // A new session with a file.
  const dialog = page.getByRole('dialog')
  await page.keyboard.press('c')
  await expect(dialog).toBeVisible()
  await expect(dialog.getByRole('combobox', { name: 'Folder' })).toBeFocused()
  await hands.write(folder)
  await hands.to(dialog.getByRole('textbox', { name: /What should Claude do/ }), 'Shift+Tab')
  await page.keyboard.insertText(steps('Work.', bash('touch one'), { text: 'The heron stands.' }))
  const chosen = page.waitForEvent('filechooser')
  await hands.activate(dialog.getByRole('button', { name: 'Attach files' }))
  await (await chosen).setFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Some notes.') })
  await expect(dialog.getByRole('button', { name: 'Remove notes.txt' })).toBeVisible()
  await page.keyboard.press('Control+Enter')
  await expect(app.card('touch one')).toBeVisible()
  await expect(page.getByRole('link', { name: /^notes.txt/ })).toBeVisible()

  // A message waits, and is taken back; another goes out.
  await hands.press('Alt+,')
  await expect(app.composer()).toBeFocused()
  await hands.type('Not this one.')
  await hands.press('Enter')
  const queue = page.getByRole('list', { name: 'Queued messages' })
  await hands.activate(queue.getByRole('button', { name: 'Remove: Not this one.' }), 'Shift+Tab')
  await expect(queue).toHaveCount(0)
  await hands.seen('after a queued message was removed')
  await page.keyboard.press('Alt+.')
  await expect(app.card('touch one')).toBeFocused()
  await expect(app.approveButton(app.card())).not.toHaveAttribute('aria-disabled')
  await page.keyboard.press('y')
  await expect(app.said('The heron stands.')).toBeVisible()

  // Search, and back.
  await hands.press('Alt+,')
  await hands.to(page.getByRole('feed'), 'Shift+Tab')
  await page.keyboard.press('/')
  await expect(page.getByRole('searchbox', { name: 'Search this transcript' })).toBeFocused()
  await hands.type('heron')
  await expect(page.getByRole('main').getByText(/^\d of \d/)).toBeVisible()
  await hands.press('Escape')

  // Interrupt.
  await hands.press('Alt+,')
  await page.keyboard.insertText(steps('Again.', bash('touch two')))
  await page.keyboard.press('Enter')
  await expect(app.card('touch two')).toBeVisible()
  await page.keyboard.press('Alt+.')
  await expect(app.card('touch two')).toBeFocused()
  await hands.activate(page.getByRole('button', { name: 'Interrupt' }), 'Shift+Tab')
  await expect(app.cards()).toHaveCount(0)
  await hands.seen('after an interrupt')

  // Rename, fork and archive it.
  const more = async (what: string) => {
    const button = page
      .getByRole('banner')
      .or(page.getByRole('main'))
      .getByRole('button', { name: 'More', exact: true })
    await hands.activate(button, 'Shift+Tab')
    await hands.to(page.getByRole('main').getByRole('button', { name: what, exact: true }))
    await page.keyboard.press('Enter')
  }
  await more('Rename')
  await expect(dialog.getByRole('textbox', { name: 'Title' })).toBeFocused()
  await hands.write('By keys')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('heading', { level: 1, name: 'By keys' })).toBeVisible()
  await hands.seen('after a session was renamed')
  await more('Fork')
  await expect(page.getByRole('heading', { level: 1, name: 'Fork of By keys' })).toBeVisible()
  await hands.press('Alt+,')

  // Kill, resume and go on.
  await more('Kill…')
  await hands.activate(dialog.getByRole('button', { name: 'Kill' }))
  await expect(app.dead()).toBeVisible()
  await hands.seen('after a session was killed')
  await hands.activate(page.getByRole('button', { name: 'Resume', exact: true }), 'Shift+Tab')
  await expect(app.resumeButton()).toHaveCount(0)
  await hands.seen('after a session was resumed')
  await more('Archive')
  await expect(page.getByRole('main').getByText('Archived', { exact: true })).toBeVisible()
  await hands.seen('after a session was archived')

  // The palette, the settings, and out.
  await page.keyboard.press('Alt+,')
  await page.keyboard.press('Control+k')
  await expect(dialog.getByRole('combobox')).toBeFocused()
  await hands.type('settings')
  await expect(dialog.getByRole('option', { name: 'Settings', exact: true })).toBeVisible()
  await page.keyboard.press('Enter')
  await expect(page.getByRole('heading', { level: 1, name: 'Settings' })).toBeVisible()
  await hands.to(page.getByLabel('Theme'))
  await hands.press('ArrowDown', 'Tab')
  await page.keyboard.press('Control+k')
  await expect(dialog.getByRole('combobox')).toBeFocused()
  await page.keyboard.type('sign out')
  await expect(dialog.getByRole('option')).toHaveCount(1)
  await page.keyboard.press('Enter')
  await App.expectSignedOut(page)
})

test('keyboard only: the inbox and the admin area @newest @nightly', async ({ page, hands, folder, rest, own }) => {
  const look = { ask: { tool_name: 'Read', input: { file_path: `${folder}/notes` } }, count: 3, parallel: true }
  const first = await rest.start(steps('Look.', look, { text: 'Looked.' }), { cwd: folder, title: 'Look' })
  await expect.poll(async () => (await rest.state(first)).pending_requests.length).toBe(3)
  const second = await rest.start(steps('Run.', bash('rm later'), { text: 'Ran.' }), { cwd: folder, title: 'Run' })
  await expect.poll(async () => (await rest.state(second)).pending_requests.length).toBe(1)
  const app = await App.home(page, own.url)
  await app.hearsKeys()
  await hands.go('i')
  await expect(page).toHaveURL(/\/inbox/)
  const rows = page.locator('[data-inbox-row]')
  await expect(rows).toHaveCount(2)

  await page.keyboard.press('?')
  await expect(page.getByRole('dialog', { name: 'Keyboard shortcuts' })).toBeVisible()
  await page.keyboard.press('Escape')
  await expect(page.getByRole('dialog')).toHaveCount(0)

  // Snoozed, it goes to the end and stays.
  await hands.press('j', 'z')
  await expect(page.getByText(/^snoozed, \d+ min left/)).toBeVisible()
  await hands.press('z')
  await expect(page.getByText(/^snoozed, \d+ min left/)).toBeHidden()
  // What came together is one row, selected with the keys and approved once.
  await hands.press('x', 'Shift+A')
  await page.keyboard.press('Shift+Y')
  const batch = page.getByRole('group', { name: 'Use Read 3 times' })
  await expect(batch).toBeFocused()
  await hands.activate(batch.getByRole('button', { name: 'Approve 3' }))
  await hands.activate(batch.getByRole('button', { name: 'Close' }))
  await expect.poll(() => rest.said(first)).toContain('Looked.')
  await hands.seen('after a batch')

  // What is left is answered where it stands.
  await page.keyboard.press('Alt+.')
  await expect(app.card('rm later')).toBeFocused()
  await expect(app.approveButton(app.card())).not.toHaveAttribute('aria-disabled')
  await page.keyboard.press('y')
  await expect.poll(() => rest.said(second)).toContain('Ran.')
  // It stays until it is put away.
  await hands.activate(page.getByRole('region', { name: 'Selected request' }).getByRole('button', { name: 'Done' }))
  await expect(page.getByText('You’re all caught up').first()).toBeVisible()

  // The admin area: a process is killed from its menu.
  await hands.go('a')
  await expect(page.getByRole('heading', { name: 'Processes' })).toBeVisible()
  const row = page.getByRole('row', { name: /Run/ })
  await hands.activate(row.getByRole('button', { name: /^Actions for/ }))
  await hands.activate(row.getByRole('button', { name: 'Kill…' }))
  await hands.activate(page.getByRole('dialog').getByRole('button', { name: 'Kill' }))
  await expect(row).toHaveCount(0)
  await hands.seen('after a process was killed')
})

// What the server has for it is made here: the flow is the page's.
shared(
  'with keys alone: what another began, what was said before, what is found @newest @nightly',
  async ({ page, server: { url } }) => {
    const hands = await Hands.on(page)
    const stage = await Stage.in(page)
    const json = (path: string, body: unknown) => page.route(path, (route) => route.fulfill({ json: body }))
    const at = Date.now() / 1000
    await json('**/api/templates', {
      templates: [
        { template_id: 't1', place: 'reason', text: 'Use pnpm.', uses: 1, used_at: at },
        { template_id: 't2', place: 'message', text: 'Go on.', uses: 1, used_at: at },
      ],
    })
    await json('**/api/search?*', {
      results: [
        {
          session_id: stage.id,
          title: 'Fix the login',
          cwd: '/w',
          archived: false,
          more: false,
          hits: [{ seq: 1, key: 'k1', kind: 'text', at, excerpt: 'A heron.' }],
        },
      ],
      next: null,
    })
    const terminal = { session_id: 't', title: 'In a terminal', cwd: '/w', changed_at: at, size: 9, running: false }
    await json('**/api/terminal_sessions', { sessions: [terminal] })
    await json('**/api/terminal_sessions/t', terminal)
    await json('**/api/terminal_sessions/t/transcript*', {
      before: null,
      items: [{ seq: 1, rev: 1, key: 'a', at, agent_id: null, kind: 'text', text: 'Two cranes.' }],
    })
    await json('**/api/sessions', { result: 'applied', session_id: stage.id })
    const [request, preview] = KINDS['a command']!
    const asks = (id: string) => {
      stage.previews.set(id, preview!)
      stage.show([{ ...request, request_id: id, created_at: at + 3_600 }])
    }
    stage.say({ kind: 'text', text: 'A heron.' })
    asks('one')
    await stage.open(url)
    const dialog = page.getByRole('dialog')
    const main = page.getByRole('main')
    const card = (id: string) => page.locator(`[data-request-id=${id}]`)
    const reach = async (id: string) => {
      await expect(async () => {
        await page.keyboard.press('Alt+.')
        await expect(card(id)).toBeFocused({ timeout: 1_000 })
      }).toPass()
    }
    const composer = main.getByRole('textbox', { name: 'Message' })

    // Before everything else there are the ways past the list.
    await expect(card('one')).toBeVisible()
    await hands.activate(page.getByRole('button', { name: 'Skip to message' }))
    await expect(composer).toBeFocused()
    await hands.activate(page.getByRole('button', { name: 'Skip to request' }), 'Shift+Tab')
    await expect(card('one')).toBeFocused()

    // Somebody else writes the answer; taken over, it is decided here.
    await expect(card('one')).toBeVisible()
    stage.send({
      type: 'presence',
      session_id: stage.id,
      viewers: [{ name: 'grace', typing: true, request_id: 'one' }],
    })
    await expect(card('one').getByText('grace is answering')).toBeVisible()
    await reach('one')
    await hands.activate(card('one').getByRole('button', { name: 'Take over' }))
    await hands.seen('after a request was taken over')
    await expect(card('one')).toBeFocused()
    await expect(card('one').getByRole('button', { name: 'Approve' })).not.toHaveAttribute('aria-disabled')
    await hands.press('y')
    await expect.poll(() => stage.commands.at(-1)?.type).toBe('pending_request_response')

    // Denied with what was said before.
    asks('two')
    await reach('two')
    await expect(card('two').getByRole('button', { name: 'Deny' })).not.toHaveAttribute('aria-disabled')
    await hands.press('t')
    await expect(card('two').getByRole('button', { name: 'Use pnpm.' })).toBeFocused()
    await hands.press('Enter')
    await expect(card('two').getByRole('textbox')).toBeFocused()
    await expect(card('two').getByRole('textbox')).toHaveValue('Use pnpm.')
    await page.keyboard.press('Control+Enter')
    await expect.poll(() => JSON.stringify(stage.commands.at(-1))).toContain('Use pnpm.')
    stage.show([])
    await expect(composer).toBeFocused()

    // An option is chosen and sent: while the answer is on its way the focus stays in
    // the form, then on what became of it; what is asked next stands below.
    const form = FORMS['a question with one answer']!
    stage.show([{ ...form, request_id: 'three', created_at: at + 3_600 }])
    await reach('three')
    await expect(card('three').getByRole('button', { name: 'Decline' })).not.toHaveAttribute('aria-disabled')
    await hands.press('2')
    stage.deaf = true
    await hands.press('Control+Enter')
    await expect.poll(() => JSON.stringify(stage.commands.at(-1))).toContain('Full text')
    await expect(card('three').getByText('No confirmation yet.')).toBeVisible()
    await hands.seen('while an answer is on its way')
    stage.show([{ ...form, request_id: 'four', created_at: at + 3_600 }])
    await expect(card('three')).toHaveCount(0)
    await expect(main.locator('.outcome')).toBeFocused()
    await hands.seen('on what became of an answer')
    await expect(card('four')).toBeVisible()
    await hands.press('j')
    await expect(card('four')).toBeFocused()
    stage.deaf = false
    stage.show([])
    await expect(composer).toBeFocused()

    // A message of what was said before.
    await hands.to(page.getByRole('feed'), 'Shift+Tab')
    await hands.press('t')
    await expect(main.getByRole('button', { name: 'Go on.' })).toBeFocused()
    await hands.press('Enter')
    await expect(composer).toBeFocused()
    await expect(composer).toHaveValue('Go on.')
    await hands.press('Enter')
    await expect.poll(() => stage.commands.at(-1)).toMatchObject({ type: 'send_message', text: 'Go on.' })

    // Another model, another mode.
    const sent: string[] = []
    for (const what of ['model', 'permission_mode']) {
      await page.route(`**/api/sessions/*/${what}`, (route) => {
        sent.push(`${what} ${route.request().postData()}`)
        return route.fulfill({ json: { result: 'applied' } })
      })
    }
    for (const name of ['Permission mode', 'Model']) {
      await hands.to(main.getByRole('combobox', { name }))
      await hands.press('ArrowDown')
      await expect(main.getByRole('listbox', { name })).toBeVisible()
      await hands.press('ArrowDown')
      await hands.press('Enter')
    }
    await expect.poll(() => sent.join()).toMatch(/permission_mode .*acceptEdits.*,model .*sonnet/)

    // To the phone, and back to where one was.
    const menu = main.getByRole('button', { name: 'More', exact: true })
    await hands.activate(menu, 'Shift+Tab')
    await hands.activate(main.getByRole('button', { name: 'Open on phone' }))
    await expect(dialog.getByRole('img')).toBeVisible()
    await page.keyboard.press('Escape')
    await expect(menu).toBeFocused()

    // Found in the transcripts; a session of a terminal goes on here.
    await hands.to(page.getByRole('searchbox', { name: 'Search sessions' }), 'Shift+Tab')
    await hands.type('heron')
    const hit = page.getByRole('link', { name: /^Claude A heron/ })
    await hands.to(hit)
    await hands.press('Enter')
    await expect(page).toHaveURL(/block=k1/)
    await hands.to(page.getByRole('searchbox', { name: 'Search sessions' }), 'Shift+Tab')
    await hands.press('Escape')
    await hands.activate(page.getByRole('button', { name: 'Terminal sessions' }))
    await hands.seen('after the list was changed')
    await hands.to(page.getByRole('link', { name: /In a terminal/ }))
    await hands.press('Enter')
    await expect(page.getByText('Two cranes.')).toBeVisible()
    await hands.activate(main.getByRole('button', { name: 'Continue here' }))
    await expect(page).toHaveURL(`${url}/sessions/${stage.id}`)
    await hands.press('Alt+,')
    await expect(composer).toBeFocused()

    // A key is changed, and a template made.
    await page.goto(`${url}/settings`)
    await hands.to(page.getByText('Customize shortcuts'))
    await hands.press('Enter')
    await hands.to(page.getByRole('button', { name: 'Change shortcut: Approve once' }))
    await hands.press('Enter', 'q')
    await expect(page.getByRole('button', { name: 'Reset shortcut: Approve once' })).toBeVisible()
    await hands.to(page.getByRole('textbox', { name: 'Name', exact: true }))
    await hands.type('pnpm')
    await hands.press('Tab')
    await hands.type('Use pnpm.')
    await hands.press('Tab')
    const made = page.waitForRequest((r) => r.method() === 'POST' && r.url().endsWith('/api/templates'))
    await hands.press('Enter')
    expect((await made).postDataJSON()).toMatchObject({ name: 'pnpm', text: 'Use pnpm.' })
  },
)

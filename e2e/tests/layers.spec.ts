import { readdirSync, readFileSync } from 'node:fs'

import type { Page } from '@playwright/test'

import { KINDS, request as asked } from '../../frontend/src/testcards.ts'
import {
  type AuditEntry,
  closeCodes,
  type LimitList,
  type Person,
  type Project,
  type Refusal,
  type SignIn,
  type TrustedFolder,
} from '../../frontend/src/wire/messages.gen.ts'
import { DESK, expectAccessible, PHONE } from '../a11y.ts'
import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { root } from '../machine.ts'
import { Stage } from '../stage.ts'

// What opens over a page, beside it or in a row of it, in light and dark, on a desk
// and a phone, and at 320 px. On made frames.
const once = { tag: '@newest' }
const nightly = { tag: ['@newest', '@nightly'] }

/** Every page, and every component that can lie over one: under what name axe looks at it. */
const LOOKED_AT: Record<string, string> = {
  'shell/Shell.vue': 'the list',
  'account/Account.vue': 'the account with all of its parts',
  'account/SetUp.vue': 'the first start',
  'account/SignIn.vue': 'sign-in',
  'account/SignOutDialog.vue': 'before who has not sent all signs out',
  'admin/Admin.vue': 'admin/processes',
  'admin/Audit.vue': 'an entry of the audit log',
  'admin/Folders.vue': 'the folders that are trusted',
  'admin/Grants.vue': 'admin/grants',
  'admin/MachineDialog.vue': 'before a machine is removed',
  'admin/Machines.vue': 'the machines',
  'admin/People.vue': 'people with a link for one',
  'admin/PersonLimits.vue': 'the limits of a person',
  'admin/Processes.vue': 'before ended sessions are archived',
  'admin/SetPassword.vue': 'a password for a person',
  'admin/Settings.vue': 'admin/settings',
  'admin/Storage.vue': 'admin/storage',
  'admin/SignIns.vue': 'the sign-ins of a person',
  'admin/Tokens.vue': 'admin/tokens',
  'changes/CommitDialog.vue': 'before changes are committed',
  'changes/DiscardDialog.vue': 'before changes are discarded',
  'changes/RewindDialog.vue': 'the dialog before a rewind',
  'changes/WorkPanel.vue': 'the panel of changes',
  'tools/Tools.vue': 'the panel of tools',
  'usage/Usage.vue': 'the panel of context and cost',
  'inbox/BulkPane.vue': 'several selected',
  'session/HandOff.vue': 'the way to the phone',
  'inbox/Inbox.vue': 'inbox',
  'shell/KeySheet.vue': 'Keyboard shortcuts',
  'shell/Keyboard.vue': 'the ways past the list',
  'shell/Palette.vue': 'the palette with results',
  'ui/ToastHost.vue': 'what can be taken back',
  'session/Choice.vue': 'how Claude works',
  'pending/RequestDock.vue': 'a card on a phone',
  'account/Welcome.vue': 'what Claude needs before the first session',
  'phone/Phone.vue': 'the set-up of a phone',
  'phone/Share.vue': 'what was shared',
  'admin/Projects.vue': 'a project',
  'session/SessionDetails.vue': 'the drawer on a phone',
  'session/KillDialog.vue': 'before a session is killed',
  'session/NewSession.vue': 'New session',
  'session/NoSession.vue': 'the list',
  'session/PlainPage.vue': 'the plain page',
  'session/RenameDialog.vue': 'renaming',
  'session/ShareDialog.vue': 'a session to share',
  'session/SessionView.vue': 'a session with all around it',
  'session/TerminalView.vue': 'a session of a terminal',
  'settings/Settings.vue': 'settings with everything open',
  'sidebar/RowMenu.vue': 'the menu of a row',
  'ui/Dialog.vue': 'renaming',
  'ui/Menu.vue': 'the menu of a session',
  'worktree/WorktreeDialog.vue': 'what becomes of a worktree',
  'workspace/TrustDialog.vue': 'what a folder would do',
}

test('every page and layer has an accessibility test', once, () => {
  const src = `${root}frontend/src/`
  const read = (file: string) => readFileSync(file, 'utf8')
  const under = (folder: string, end: string) =>
    (readdirSync(folder, { recursive: true }) as string[]).filter((file) => file.endsWith(end))
  const named = (file: string, import_: RegExp) =>
    [...read(src + file).matchAll(import_)].map(([, path]) =>
      path!.replace(/^@\//, '').replace(/^\.\//, file.includes('/') ? `${file.split('/')[0]}/` : ''),
    )
  const paged = [
    ...['router.ts', 'admin/pages.ts'].flatMap((file) => named(file, /['"]((?:\.|@)\/[\w/.]+\.vue)['"]/g)),
    // What takes a part of a page when it is opened.
    ...['changes/WorkPanel.vue', 'inbox/Inbox.vue'].flatMap((file) =>
      named(file, /import\('((?:\.|@)\/[\w/.]+\.vue)'\)/g),
    ),
  ]
  const laid = under(src, '.vue').filter((file) =>
    /<[Dd]ialog\b|\bpopover\b|role="(alert)?dialog"|position: fixed|z-index: \d\d/.test(read(src + file)),
  )
  expect(Object.keys(LOOKED_AT).toSorted()).toEqual([...new Set([...paged, ...laid])].toSorted())
  const tests = under(`${root}e2e/tests`, '.spec.ts')
    .map((file) => read(`${root}e2e/tests/${file}`).replace(/const LOOKED_AT[^}]*}/, ''))
    .join()
  expect(Object.values(LOOKED_AT).filter((name) => !tests.includes(`'${name}'`))).toEqual([])
})

const at = 1_763_692_800
const json = (page: Page, path: string | RegExp, body: unknown, status = 200) =>
  page.route(path, (route) => route.fulfill({ status, json: body }))
const refused = (code: string, message: string): Refusal => ({ error: { code, message } })
const quiet = (...descriptions: string[]) =>
  test.info().annotations.push(...descriptions.map((description) => ({ type: 'allowed on the console', description })))

const GRACE = {
  user_id: 'g',
  name: 'grace',
  role: 'member',
  disabled: false,
  has_password: false,
  created_at: at,
} satisfies Person
const PEOPLE: Person[] = [
  { ...GRACE, user_id: 'a', name: 'ada', role: 'admin', has_password: true },
  GRACE,
  { ...GRACE, user_id: 'l', name: 'linus', role: 'viewer', disabled: true },
]
const SIGN_INS: SignIn[] = [
  {
    sign_in_id: 's1',
    device: 'Firefox on Linux',
    address: '192.0.2.7',
    created_at: at,
    last_used_at: at,
    expires_at: null,
    current: false,
  },
  {
    sign_in_id: 's2',
    device: 'Pixel 9 (Chrome)',
    address: '192.0.2.8',
    created_at: at,
    last_used_at: null,
    expires_at: null,
    current: false,
  },
]
const most = { sessions: 2, memory: 1 << 30, cost: 5 }
const use = { sessions: 2, memory: 1 << 29, cost: 4.5 }
const LIMITS: LimitList = {
  mine: { limits: most, use },
  projects: [],
  next_day: at,
  everybody: most,
  people: PEOPLE.map(({ user_id, name }) => ({ user_id, name, limits: most, use, own: { sessions: 3 } })),
}
const PROJECT: Project = {
  project_id: 'p',
  name: 'api-server',
  folders: ['/w/api'],
  members: [
    { user_id: 'a', role: 'admin' },
    { user_id: 'g', role: 'member' },
  ],
  start: { role: 'member', people: [] },
  answer: { role: 'member', people: ['g'] },
  rules: [
    { tool: 'Bash', pattern: 'git push*', effect: 'two_people', people: ['a', 'g'] },
    { tool: 'WebFetch', pattern: '', effect: 'deny', people: [] },
  ],
  bypass: [],
  limits: most,
  each_limits: most,
  ask_timeout: 60,
  version: 1,
  created_at: at,
  names: { a: 'ada', g: 'grace' },
  role: 'admin',
  rights: ['see', 'start', 'manage'],
  use,
  people: [{ user_id: 'l', name: 'linus', server_role: 'viewer' }],
}
const TRUSTED: TrustedFolder = {
  folder: '/w/api',
  digest: 'd',
  by: 'ada',
  trusted_at: at,
  items: [
    {
      kind: 'hook',
      danger: 'runs',
      file: '/w/api/.claude/settings.json',
      name: 'PreToolUse',
      text: 'make lint',
      cut: false,
      new: false,
    },
  ],
}
const ENTRY: AuditEntry = {
  seq: 7,
  hash: 'sha256:0a',
  entry: {
    what: 'answered',
    at: '2025-11-21T02:40:00Z',
    by: { name: 'ada', device: 'Chrome on Linux', address: '192.0.2.7' },
    session_id: 's',
    tool_name: 'Bash',
    edited: true,
    waited_seconds: 12,
    asked: { hash: 'sha256:0b', text: '{"command":"touch a"}' },
    answer: { hash: 'sha256:0c', text: '{"updated_input":{"command":"touch b"}}' },
    grants: [{ rule: 'Bash(touch:*)', scope: 'session' }],
  },
}

/** What an administrator is told by REST. */
async function administered(page: Page): Promise<void> {
  await json(page, '**/api/users', { users: PEOPLE })
  await json(page, '**/api/users/g/sign_in_link', { token: 't'.repeat(40), expires_at: at })
  await json(page, '**/api/sign_ins?*', { sign_ins: SIGN_INS })
  await json(page, '**/api/limits', LIMITS)
  await json(page, '**/api/projects', { projects: [PROJECT] })
  await json(page, '**/api/projects/p', PROJECT)
  await json(page, '**/api/trusted_folders', { folders: [TRUSTED] })
  await json(page, '**/api/audit?*', { entries: [ENTRY], next: 0 })
  await json(page, '**/api/audit/state', { verified: 7, first: 1, at, problem: '' })
}

test('the layers of the admin area are accessible', nightly, async ({ page, server: { url } }) => {
  test.setTimeout(180_000)
  const stage = await Stage.in(page)
  await administered(page)
  stage.show([], { state: 'dead', error: 'Claude ended by itself with exit code 1.' })
  const dialog = page.getByRole('dialog')
  const main = page.getByRole('main')

  await page.goto(`${url}/admin/people`)
  const grace = page.getByRole('row', { name: /grace/ })
  const more = grace.getByRole('button', { name: 'Actions for grace' })
  await more.click()
  await grace.getByRole('button', { name: 'Create sign-in link' }).click()
  await expect(main.getByText(/\/sign-in#t+/)).toBeVisible()
  await expectAccessible(page, 'people with a link for one', 'main')
  for (const [button, what] of [
    ['Devices of grace', 'the sign-ins of a person'],
    ['Limits of grace', 'the limits of a person'],
    ['Set new password…', 'a password for a person'],
  ] as const) {
    if (!button.startsWith('Devices')) await more.click()
    await grace.getByRole('button', { name: button }).click()
    await expect(dialog.getByRole('button').last()).toBeVisible()
    await expectAccessible(page, what, 'dialog[open]')
    await page.keyboard.press('Escape')
    await expect(dialog).toHaveCount(0)
  }

  const tabs = main.getByRole('navigation')
  await tabs.getByRole('link', { name: 'Projects' }).click()
  await main.getByRole('button', { name: 'Open api-server' }).click()
  await expect(main.getByRole('heading', { name: 'api-server' })).toBeVisible()
  await main.getByRole('button', { name: 'Delete project' }).click()
  await expectAccessible(page, 'a project', 'main')
  await tabs.getByRole('link', { name: /folders/i }).click()
  await main.getByText('1 item').click()
  await expectAccessible(page, 'the folders that are trusted', 'main')
  await tabs.getByRole('link', { name: 'Audit log' }).click()
  await main.getByRole('button', { name: /Bash/ }).click()
  await main.getByText('Recorded entry').click()
  await expectAccessible(page, 'an entry of the audit log', 'main')
  await tabs.getByRole('link', { name: 'Processes' }).click()
  await main.getByRole('button', { name: /^Archive 1/ }).click()
  await expectAccessible(page, 'before ended sessions are archived', 'dialog[open]')
})

test(
  'the layers above a session and the connection notices are accessible',
  nightly,
  async ({ page, server: { url } }) => {
    test.setTimeout(180_000)
    quiet('status of 4', 'WebSocket connection to')
    const stage = await Stage.in(page)
    const created_at = Date.now() / 1000 + 3_600
    const [write, preview] = KINDS['a new file']!
    const rule = KINDS['a command with a rule']!
    stage.previews.set('file', preview!)
    stage.previews.set('rule', rule[1]!)
    stage.say({
      kind: 'tool_call',
      tool_use_id: 't1',
      tool_name: 'Edit',
      input: { file_path: '/w/src/main.go', old_string: 'a', new_string: 'b' },
      status: 'done',
      input_bytes: 9,
      result_bytes: 4,
      finished_at: at,
    })
    stage.show([{ ...write, request_id: 'file', created_at }])
    await stage.open(url)
    const main = page.getByRole('main')
    const dialog = page.getByRole('dialog')
    const card = page.locator('[data-request-id=file]')

    // What a person writes on two devices, of a file and of a message.
    await App.of(page).choose(card, 'Edit')
    await card.getByRole('textbox').fill('three\n')
    stage.send({
      type: 'draft',
      session_id: stage.id,
      request_id: 'file',
      value: { edit: 'four\n', reason: '', denying: false },
      at,
    })
    await expect(card.getByText('four')).toBeVisible()
    await expect(card.getByRole('group', { name: 'Your changes' })).toBeVisible()
    await expectAccessible(page, 'a file that is edited here and elsewhere', '[data-request-id=file]')

    // What can be taken back: a rule, and a decision.
    stage.show([{ ...rule[0], request_id: 'rule', created_at }])
    const ruled = page.locator('[data-request-id=rule]')
    await ruled.getByText('Don’t ask again…').click()
    await ruled.getByRole('radio').last().check()
    await ruled.getByRole('button', { name: 'Approve' }).click()
    await expect.poll(() => stage.commands.at(-1)?.type).toBe('pending_request_response')
    stage.show([
      {
        ...write,
        request_id: 'file',
        created_at,
        held: { by: 'ada', mine: true, decision: 'allow', at: Date.now() / 1000, until: Date.now() / 1000 + 600 },
      },
    ])
    await expect(page.getByText('Claude no longer asks for')).toBeVisible()
    // The card has the button itself; elsewhere a toast has it.
    const undo = page.getByRole('region', { name: 'Undo window' })
    await expect(undo).toBeHidden()
    await page.getByRole('link', { name: 'Settings' }).click()
    await expect(undo).toBeVisible()
    await expectAccessible(page, 'what can be taken back', '.toast')
    await page.goBack()
    await expect(page.locator('.outcome')).toBeVisible()
    await expect(undo).toBeHidden()

    await page.setViewportSize(PHONE)
    await main.getByRole('feed').focus()
    await page.keyboard.press('b')
    await expect(dialog.getByText('src/main.go')).toBeVisible()
    await expectAccessible(page, 'the drawer on a phone', 'dialog[open]', [PHONE])
    await page.keyboard.press('Escape')
    await page.setViewportSize(DESK)

    // A batch of which every one ends in its own way.
    const low = (i: number) =>
      ({ risk: 'low', tool_name: 'Read', tool_input: { file_path: '/w/a' }, created_at: created_at + 60 * i }) as const
    const all = ['a1', 'a2', 'a3', 'a4']
    stage.show(all.map((id, i) => asked(id, low(i))))
    await page
      .getByRole('link', { name: /^Inbox/ })
      .first()
      .click()
    await main.getByRole('button', { name: 'Select', exact: true }).click()
    await main.getByRole('button', { name: 'Select low-risk' }).click()
    const batch = page.locator('[data-request-id=selected]')
    stage.deaf = true
    const approveAll = batch.getByRole('button', { name: 'Approve 4' })
    await expect(approveAll).not.toHaveAttribute('aria-disabled')
    await approveAll.click()
    await expect(batch.getByText('Sending')).toHaveCount(4)
    const sent = stage.commands.slice(-4).map((c) => ('command_id' in c ? c.command_id! : ''))
    stage.send(
      { type: 'ack', command_id: sent[0]!, result: 'applied' },
      { type: 'ack', command_id: sent[1]!, result: 'stale' },
      { type: 'ack', command_id: sent[2]!, result: 'rejected', error: { code: 'forbidden', message: 'You may not.' } },
    )
    await expect(batch.getByText('Sending')).toHaveCount(1)
    await expectAccessible(page, 'a batch', 'main')
    await page.keyboard.press('Escape')
    await App.of(page).signOut()
    await expect(dialog).toContainText('1 answer or message not sent yet')
    await expectAccessible(page, 'before who has not sent all signs out', 'dialog[open]')
    await dialog.getByRole('button', { name: 'Stay signed in' }).click()
    stage.deaf = false
    stage.show([])

    // No more of them.
    await json(page, '**/api/limits', LIMITS)
    await json(page, '**/api/sessions', refused('limit_reached', 'You have 2 sessions, which is the most.'), 429)
    await page.getByRole('button', { name: 'New session' }).first().click()
    await dialog.getByRole('combobox', { name: 'Folder' }).fill('/w/api')
    await dialog.getByRole('textbox', { name: /What should Claude do/ }).fill('Look.')
    await page.keyboard.press('Control+Enter')
    await expect(dialog.getByRole('alert').filter({ hasText: /\w/ })).toBeVisible()
    await expectAccessible(page, 'a session too many', 'dialog[open]')
    await page.keyboard.press('Escape')

    // The line: without a network, trying, gone for long, too old; and signed out elsewhere.
    await page.keyboard.press('Tab')
    await expectAccessible(page, 'the ways past the list', '.ways')
    const bar = page.locator('.holder')
    stage.up = false
    await page.evaluate(() => Object.defineProperty(navigator, 'onLine', { value: false, configurable: true }))
    await stage.hangUp()
    await expect(bar).toContainText('You’re offline')
    await expectAccessible(page, 'no network', '.holder')
  },
)

test('a person who is signed out, or follows a link, can continue', once, async ({ page, server: { url } }) => {
  quiet('status of 4', 'WebSocket connection to')
  const stage = await Stage.in(page)
  await json(page, '**/api/login', { passkey: { available: true } })
  await json(page, '**/api/me', {
    user: { name: 'grace', role: 'member' },
    user_id: 'g',
    has_password: false,
    set_up: false,
    needs_way: true,
  })
  await page.goto(`${url}/set-up`)
  await expect(page.getByRole('heading', { name: /grace/ })).toBeVisible()
  await expectAccessible(page, 'the first time of who was invited')

  const claude = {
    version: '2.1.329',
    signed_in: false,
    problem: 'Claude is not signed in on this server.',
    reasons: {
      problem: { reason: 'cli_signed_out', params: { command: '/opt/claude-code/versions/2.1.329/bin/claude login' } },
    },
  }
  await json(page, '**/api/environment', {
    claude,
    demo_available: true,
    workspace_roots: ['/srv'],
    home: '/home/grace',
  })
  await page.goto(`${url}/welcome`)
  await expect(page.getByRole('button', { name: 'Use an API key instead' })).toBeVisible()
  await expectAccessible(page, 'what Claude needs before the first session')

  await json(page, '**/api/phone', {
    addresses: [
      { url: 'https://sayso.example.org', network: 'public', missing: 'nothing', fix: [] },
      { url: 'https://192.168.1.7:8787', network: 'lan', missing: 'tls', fix: ['mkcert 192.168.1.7'] },
    ],
    through: 'direct',
  })
  await page.goto(`${url}/phone`)
  await expect(page.getByRole('img', { name: 'QR code that opens sayso.example.org' })).toBeVisible()
  await expectAccessible(page, 'the set-up of a phone', '.phone')

  await stage.open(url)
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  await stage.hangUp(closeCodes.oldVersion)
  await expect(page.locator('.holder').getByRole('button', { name: 'Reload' })).toBeVisible()
  await expectAccessible(page, 'a page that is too old', '.holder')
  await stage.open(url)
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  await page.waitForLoadState('networkidle')
  await page.context().clearCookies()
  await stage.hangUp(closeCodes.signedOut)
  await expect(page.getByText('You’re signed out.')).toBeVisible()
  await expectAccessible(page, 'signed out elsewhere')
})

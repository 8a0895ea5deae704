import type { Locator, Page } from '@playwright/test'

import { FORMS, KINDS, request as asked } from '../../frontend/src/testcards.ts'
import type { Person, PersonLimit, Project, ProjectChange, SignIn } from '../../frontend/src/wire/messages.gen.ts'
import { expect, test } from '../fixtures.ts'
import { Hands } from '../hands.ts'
import { Stage } from '../stage.ts'

// Where the focus goes when what had it changes or leaves. On made frames.
// Every press is looked at, which a busy machine takes its time for.
test.describe.configure({ timeout: 180_000 })
const json = (page: Page, path: string | RegExp, body: unknown) =>
  page.route(path, (route) => route.fulfill({ json: body }))
const at = 1_763_692_800
const later = () => Date.now() / 1000 + 3_600

test('keyboard only: changes by others never move the focus @newest @nightly', async ({ page, server: { url } }) => {
  const hands = await Hands.on(page)
  const stage = await Stage.in(page)
  await json(page, '**/api/users', { users: [] })
  // Too far apart for a group.
  const low = (id: string) =>
    asked(id, {
      risk: 'low',
      tool_name: 'Read',
      tool_input: { file_path: `/w/${id}` },
      created_at: at + 60 * 'abc'.indexOf(id),
    })
  stage.show(['a', 'b', 'c'].map(low))
  await page.goto(`${url}/inbox`)
  await hands.activate(page.getByRole('button', { name: 'Select', exact: true }))
  const boxes = page.getByRole('checkbox', { name: /^Select: / })
  await hands.to(boxes.nth(1))
  await hands.press('Space')
  await expect(boxes.nth(1)).toBeChecked()
  // Answered by another while it is selected, and gone a moment later.
  stage.show(['a', 'c'].map(low))
  await expect(page.locator('[data-row=b]')).toContainText('No longer open')
  await hands.seen('on a box whose request is answered')
  await expect(page.locator('[data-row=b]')).toHaveCount(0)
  await hands.seen('after its row has left')

  // An option has the focus while another answers, with an answer that can be taken back.
  const form = { ...FORMS['a question with one answer']!, request_id: 'form', created_at: later() }
  stage.show([form])
  await stage.open(url)
  const card = page.locator('[data-request-id=form]')
  await expect(card.getByRole('button', { name: 'Decline' })).not.toHaveAttribute('aria-disabled')
  await hands.to(card.getByRole('radio').first())
  await hands.press('Space')
  stage.show([
    {
      ...form,
      held: { by: 'grace', mine: false, decision: 'allow', at: Date.now() / 1000, until: Date.now() / 1000 + 600 },
    },
  ])
  await expect(card.getByText(/^grace/).first()).toBeVisible()
  await hands.seen('on an option that can be chosen no longer')
  await expect(card).toBeFocused()

  // A message is half written when its writer may no longer send it.
  stage.show([])
  const composer = page.getByRole('textbox', { name: 'Message' })
  await hands.press('Alt+,')
  await expect(composer).toBeFocused()
  await hands.type('Half a ')
  // Somebody else's words for it are taken, and those of this page are kept.
  stage.send({ type: 'draft', session_id: stage.id, value: 'And theirs', at })
  const theirs = page.getByRole('button', { name: 'Use that draft' })
  await hands.activate(theirs, 'Shift+Tab')
  await hands.seen('after two drafts became one')
  await expect(composer).toBeFocused()
  await expect(composer).toHaveValue('And theirs')
  stage.show([], { rights: ['see'] })
  await expect(page.getByRole('button', { name: 'Attach files' })).toHaveCount(0)
  await hands.seen('in a message that may be sent no longer')
  await expect(composer).toHaveValue('And theirs')

  // The same for a request, of which the page keeps its own.
  const [command, preview] = KINDS['a command']!
  stage.previews.set('two', preview!)
  stage.show([{ ...command, request_id: 'two', created_at: later() }])
  const two = page.locator('[data-request-id=two]')
  await expect(two.getByRole('button', { name: 'Deny' })).not.toHaveAttribute('aria-disabled')
  await hands.press('Alt+.', 'e')
  await hands.type(' # mine')
  stage.send({
    type: 'draft',
    session_id: stage.id,
    request_id: 'two',
    value: { edit: 'theirs', reason: '', denying: false },
    at,
  })
  await hands.activate(two.getByRole('button', { name: 'Keep this draft' }))
  await hands.seen('after a draft was kept')
  await expect(two.getByRole('textbox')).toHaveValue(/ # mine/)
})

const GRACE: Person = {
  user_id: 'g',
  name: 'grace',
  role: 'member',
  disabled: false,
  has_password: true,
  created_at: at,
}
const most = { sessions: 4, memory: 0, cost: 0 }
const use = { sessions: 1, memory: 0, cost: 0 }

test('keyboard only: people and a project @newest @nightly', async ({ page, server: { url } }) => {
  const hands = await Hands.on(page)
  await Stage.in(page)
  const people = [{ ...GRACE, user_id: 'a', name: 'ada', role: 'admin' }, GRACE] as Person[]
  const signIns: SignIn[] = ['Firefox on Linux', 'Pixel 9 (Chrome)'].map((device, i) => ({
    sign_in_id: `s${i}`,
    device,
    address: '192.0.2.7',
    created_at: at,
    last_used_at: at,
    expires_at: null,
    current: false,
  }))
  const sent: string[] = []
  await page.route('**/api/users', (route) => {
    if (route.request().method() === 'POST') people.push({ ...GRACE, user_id: 'l', ...route.request().postDataJSON() })
    return route.fulfill({ json: route.request().method() === 'POST' ? people.at(-1) : { users: people } })
  })
  await json(page, '**/api/users/*/sign_in_link', { token: 'x'.repeat(40), expires_at: at })
  await page.route(/\/api\/users\/\w+$/, (route) => {
    sent.push(route.request().postData() ?? '')
    Object.assign(people[1]!, route.request().postDataJSON())
    return route.fulfill({ json: people[1] })
  })
  await page.route('**/api/sign_ins**', (route) => {
    if (route.request().method() === 'DELETE') signIns.shift()
    return route.fulfill(route.request().method() === 'DELETE' ? { status: 204 } : { json: { sign_ins: signIns } })
  })
  await json(page, '**/api/limits', {
    mine: { limits: most, use },
    projects: [],
    next_day: at,
    everybody: most,
    people: people.map(({ user_id, name }): PersonLimit => ({ user_id, name, limits: most, use, own: {} })),
  })
  await page.goto(`${url}/admin/people`)
  const main = page.getByRole('main')
  const dialog = page.getByRole('dialog')

  // Somebody is let in.
  await hands.to(main.getByRole('textbox', { name: 'Name' }))
  await hands.type('linus')
  await hands.press('Enter')
  await expect(main.getByText(/\/sign-in#x+/)).toBeVisible()
  await hands.seen('after a person was added')
  await expect(page.getByRole('row', { name: /linus/ })).toBeVisible()

  const grace = page.getByRole('row', { name: /grace/ })
  await hands.to(grace.getByRole('combobox'))
  await hands.press('ArrowUp')
  await expect.poll(() => sent.at(-1)).toContain('viewer')
  await hands.seen('after a role was changed')

  // Every dialog is left where it was opened.
  const more = grace.getByRole('button', { name: 'Actions for grace' })
  const open = async (name: string, from = more) => {
    const button = grace.getByRole('button', { name })
    if (from === more) await hands.activate(more)
    await hands.activate(button)
    await expect(dialog).toBeVisible()
    await hands.seen(`in ${name}`)
    return async () => {
      await expect(dialog).toHaveCount(0)
      await expect(from).toBeFocused()
    }
  }
  let left = await open('Devices of grace', grace.getByRole('button', { name: 'Devices of grace' }))
  await hands.activate(dialog.getByRole('button', { name: 'Sign out Firefox on Linux' }))
  await expect(dialog.getByText('Firefox on Linux')).toHaveCount(0)
  await hands.seen('after a sign-in was ended')
  await hands.press('Escape')
  await left()
  left = await open('Limits of grace')
  await hands.to(dialog.getByLabel('Concurrent sessions'))
  await hands.type('7')
  await hands.press('Enter')
  await left()
  await expect.poll(() => sent.at(-1)).toContain('"sessions":7')
  left = await open('Set new password…')
  await hands.to(dialog.getByLabel('New password'))
  await hands.type('a long new password')
  await hands.press('Enter')
  await left()
  await hands.activate(more)
  await hands.activate(grace.getByRole('button', { name: 'Disable' }))
  await expect(grace.getByRole('button', { name: 'Enable' })).toBeVisible()
  await hands.seen('after a person was shut out')

  // A token is made, and ended; an entry of the audit log is read.
  const tabs = main.getByRole('navigation')
  await hands.to(tabs.getByRole('link', { name: 'Tokens' }), 'Shift+Tab')
  await hands.press('Enter')
  await hands.to(main.getByRole('textbox', { name: 'Name' }))
  await hands.type('By keys')
  await hands.press('Enter')
  await hands.activate(page.getByRole('button', { name: 'Revoke token By keys' }))
  await expect(page.getByRole('row', { name: /By keys/ })).toHaveCount(0)
  await hands.seen('after a token was revoked')
  await json(page, '**/api/audit?*', {
    entries: [
      {
        seq: 7,
        hash: 'sha256:0a',
        entry: { what: 'answered', tool_name: 'Bash', asked: { hash: 'sha256:0b', text: '{"command":"touch a"}' } },
      },
    ],
    next: 0,
  })
  await hands.to(tabs.getByRole('link', { name: 'Audit log' }))
  await hands.press('Enter')
  await hands.to(main.getByRole('button', { name: /Bash/ }))
  await hands.press('Enter')
  await hands.to(main.locator('pre').filter({ hasText: 'touch a' }).first())

  // A project: whatever is chosen in it is saved at once.
  let project: Project = {
    project_id: 'p',
    name: 'api-server',
    folders: ['/w/api'],
    members: [
      { user_id: 'a', role: 'admin' },
      { user_id: 'g', role: 'member' },
    ],
    start: { role: 'member', people: [] },
    answer: { role: 'member', people: ['g'] },
    rules: [{ tool: 'WebFetch', pattern: '', effect: 'deny', people: [] }],
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
    people: [{ user_id: 'l', name: 'linus', server_role: 'member' }],
  }
  await json(page, '**/api/projects', { projects: [project] })
  await page.route('**/api/projects/p', async (route) => {
    if (route.request().method() === 'PATCH')
      project = {
        ...project,
        ...(route.request().postDataJSON() as ProjectChange),
        version: project.version + 1,
      } as Project
    await route.fulfill({ json: project })
  })
  await hands.to(main.getByRole('link', { name: 'Projects' }), 'Shift+Tab')
  await hands.press('Enter')
  await hands.activate(main.getByRole('button', { name: 'Open api-server' }))
  await expect(main.getByRole('heading', { name: 'api-server' })).toBeVisible()
  await hands.seen('in a project')
  /** Nearer than the first of the page. */
  const stays = async (in_: Locator, what: string) => {
    await hands.seen(what)
    expect(await in_.evaluate((el) => el.contains(document.activeElement)), what).toBe(true)
  }
  const members = main.getByRole('region', { name: 'Members' })
  await hands.activate(members.getByRole('button', { name: /grace/ }))
  await expect(members.getByText('grace')).toHaveCount(0)
  await stays(members, 'after a member was removed')
  const rules = main.getByRole('region', { name: /rules/i })
  await hands.to(rules.getByRole('textbox').nth(1))
  await hands.type('git push*')
  await hands.press('Enter')
  await expect(rules.getByRole('listitem')).toHaveCount(2)
  await stays(rules, 'after a rule was added')
  await hands.activate(rules.getByRole('button', { name: 'Remove rule 1' }), 'Shift+Tab')
  await expect(rules.getByRole('listitem')).toHaveCount(1)
  await stays(rules, 'after a rule was removed')
  const wait = main.getByRole('region', { name: 'MCP questions' }).getByRole('combobox')
  await hands.to(wait)
  await hands.press('ArrowDown')
  await expect(main.getByText('Saved.')).toBeVisible()
  await hands.seen('after a choice was saved')
  await expect(wait).toBeFocused()
  await hands.activate(main.getByRole('button', { name: 'Delete project' }))
  await expect(main.getByRole('button', { name: 'Yes, delete api-server' })).toBeVisible()
  await hands.seen('before a project is deleted')
  await hands.to(main.getByRole('button', { name: 'Yes, delete api-server' }))
})

test('at 400 % all decision buttons can be reached by keyboard and nothing covers them @newest', async ({
  page,
  server: { url },
}) => {
  const hands = await Hands.on(page)
  const stage = await Stage.in(page)
  await page.setViewportSize({ width: 320, height: 256 })
  stage.say({ kind: 'user', text: 'Work.', by: 'ada' }, { kind: 'text', text: 'I will. '.repeat(40) })
  // All of it is on the screen, and is what a pointer there would press.
  const whole = async (what: Locator) => {
    await expect(what).toBeInViewport({ ratio: 1 })
    // What was just scrolled to or shown comes to rest some frames later.
    await expect
      .poll(
        () =>
          what.evaluate((el) => {
            const { x, y, width, height } = el.getBoundingClientRect()
            const points = [
              [x + 4, y + height / 2],
              [x + width / 2, y + 4],
              [x + width / 2, y + height - 4],
              [x + width - 4, y + height / 2],
            ] as const
            return points
              .map(([x, y]) => document.elementFromPoint(x, y))
              .filter((at) => !el.contains(at))
              .map((at) => at?.outerHTML.slice(0, 160) ?? 'nothing')
          }),
        { message: `what lies over ${what}` },
      )
      .toEqual([])
    await expect
      .poll(() => page.evaluate(() => document.documentElement.scrollWidth), { message: 'the page scrolls sideways' })
      .toBeLessThanOrEqual(320)
  }
  const reach = async (what: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab') => {
    await hands.to(what, key)
    await whole(what)
  }
  await stage.open(url)
  const shows = async (id: string, request: object, preview: object | null, buttons: RegExp[]) => {
    if (preview) stage.previews.set(id, preview as never)
    stage.show([{ ...(request as ReturnType<typeof asked>), request_id: id, input_hash: id, created_at: later() }])
    const card = page.locator(`[data-request-id=${id}]`)
    await expect(async () => {
      await page.keyboard.press('Alt+.')
      await expect(card).toBeFocused({ timeout: 1_000 })
      // What is above may still be laid out, on a slow machine after the key.
      await expect(card.getByRole('heading').first()).toBeInViewport({ timeout: 1_000 })
    }).toPass()
    for (const name of buttons) await reach(card.getByRole('button', { name }))
    return card
  }
  const [bash, edit, plan] = [KINDS['a command']!, KINDS['an edit']!, KINDS['a plan']!]
  let card = await shows('bash', ...bash, [/^Deny$/, /^Approve$/])
  // Tab goes past the end of the command faster than the app takes it for seen.
  const unseen = card.getByRole('button', { name: /more lines?$/ })
  await expect(async () => {
    if (await unseen.isVisible()) await unseen.press('Enter', { timeout: 1_000 })
    await expect(card.getByRole('button', { name: /^Approve$/ })).not.toHaveAttribute('aria-disabled', 'true', {
      timeout: 1_000,
    })
  }).toPass()
  await hands.press('n')
  await whole(card.getByRole('textbox'))
  await reach(card.getByRole('button', { name: 'Deny', exact: true }))
  await shows('edit', ...edit, [/^Deny$/, /^Approve$/])
  await shows('plan', ...plan, [/^Keep planning$/, /^Approve and ask$/])
  card = await shows('form', FORMS['four questions']!, null, [/^Decline$/])
  await reach(card.getByRole('radio', { name: /^Summary/ }), 'Shift+Tab')
  await reach(card.getByRole('checkbox', { name: /^Web/ }))

  // The same in the inbox, and where several are decided.
  await page.goto(`${url}/inbox/form`)
  card = page.locator('[data-request-id=form]')
  await reach(card.getByRole('checkbox', { name: /^Web/ }))
  await reach(card.getByRole('button', { name: /^Decline$/ }))
  stage.show(
    ['a', 'b'].map((id) =>
      asked(id, { risk: 'low', tool_name: 'Read', tool_input: { file_path: `/w/${id}` }, created_at: later() }),
    ),
  )
  await page.goto(`${url}/inbox`)
  await reach(page.getByRole('button', { name: 'Select', exact: true }))
  await hands.press('Enter')
  await reach(page.getByRole('checkbox').last())
  await hands.press('Space', 'Shift+Y')
  await reach(page.locator('[data-request-id=selected]').getByRole('button', { name: 'Approve 1' }))
  await hands.press('Escape')
  // The list has room for more than its head.
  await page.goto(url)
  await reach(page.getByRole('link', { name: /Fix the login/ }))
  await reach(page.getByRole('button', { name: 'Terminal sessions' }))
})

test('keyboard only: the focus moves on when the pressed control disappears @newest @nightly', async ({
  page,
  server: { url },
}) => {
  test.info().annotations.push(
    ...['status of 4', 'WebSocket connection to'].map((description) => ({
      type: 'allowed on the console',
      description,
    })),
  )
  const hands = await Hands.on(page)
  const stage = await Stage.in(page)
  const main = page.getByRole('main')
  await json(page, '**/api/pending/*/undo', { result: 'applied' })
  stage.readBefore()
  stage.say(
    { kind: 'user', text: 'Work.', by: 'ada' },
    ...Array.from({ length: 40 }, (_, i) => ({ kind: 'text', text: `Line ${i}` }) as const),
    {
      kind: 'tool_call',
      tool_use_id: 't1',
      tool_name: 'Bash',
      input: { command: 'ls' },
      status: 'done',
      input_bytes: 9,
      result_bytes: 4,
      finished_at: at,
    },
  )
  const [command, preview] = KINDS['a command']!
  for (const id of ['one', 'two']) stage.previews.set(id, preview!)
  await stage.open(url)

  // What happened meanwhile, and the way to the end of it.
  const missed = page.getByRole('region', { name: 'While you were away:' })
  await hands.activate(missed.getByRole('button').last())
  await expect(missed).toHaveCount(0)
  await hands.seen('after what happened meanwhile was read')
  await hands.to(page.getByRole('feed'))
  await hands.press('Home')
  const jump = page.getByRole('button', { name: /^Jump to end|^\d+ new/ })
  await expect(jump).toBeVisible()
  await hands.press('Alt+,')
  await hands.activate(jump, 'Shift+Tab')
  await expect(jump).toHaveCount(0)
  await hands.seen('after the jump to the end')

  // A request that is over, with words that were kept.
  stage.show([{ ...command, request_id: 'one', created_at: later() }])
  const card = page.locator('[data-request-id=one]')
  await expect(card.getByRole('button', { name: 'Deny' })).not.toHaveAttribute('aria-disabled')
  await hands.press('Alt+.', 'n')
  await hands.type('Not now.')
  stage.show([])
  const told = main.getByRole('group', { name: /^No longer open/ })
  await hands.activate(told.getByRole('button', { name: 'Dismiss' }))
  await expect(told).toHaveCount(0)
  await hands.seen('after a notice was read')

  // A decision that is taken back on its card.
  const held = {
    by: 'ada',
    mine: true,
    decision: 'allow',
    at: Date.now() / 1000,
    until: Date.now() / 1000 + 600,
  } as const
  stage.show([{ ...command, request_id: 'two', created_at: later(), held }])
  const undo = page.locator('.outcome').getByRole('button', { name: 'Undo' })
  await hands.activate(undo)
  stage.show([{ ...command, request_id: 'two', created_at: later() }])
  await expect(undo).toHaveCount(0)
  await hands.seen('after a decision was taken back')

  // The line is gone, and tried again.
  stage.up = false
  await stage.hangUp()
  await hands.activate(page.getByRole('button', { name: 'Retry now' }))
  stage.up = true
  await expect(page.getByRole('button', { name: 'Queue', exact: true })).toBeVisible()
  await hands.seen('after the line was tried again')
})

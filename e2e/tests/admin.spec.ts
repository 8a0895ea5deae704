import { readFileSync } from 'node:fs'

import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { bash, play, prompt, text } from '../script.ts'

const own = (name: string) => `${name} ${Math.random().toString(36).slice(2, 8)}`

test(
  'processes show what they wait for and their diagnostics, and can be killed by force',
  { tag: '@newest' },
  async ({ page, context, scripted, rest, server }) => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    const names = [own('Waits'), own('Ends'), own('Forced')]
    const ids: string[] = []
    for (const name of names) {
      const id = await rest.start(play(name, [bash(`touch ${name.split(' ')[0]}`)], [text('Done.')]), {
        cwd: scripted,
        title: name,
      })
      ids.push(id)
    }
    await App.home(page, server.url)
    await page.keyboard.press('g')
    await page.keyboard.press('a')
    await expect(page.getByRole('heading', { name: 'Processes' })).toBeVisible()
    const row = (name: string) => page.getByRole('row', { name: new RegExp(name) })
    for (const name of names) await expect(row(name).getByText('An answer to Bash')).toBeVisible()
    await expect(row(names[0]!).getByText(/pid \d+/)).toBeVisible()
    await expect(row(names[0]!).getByRole('img', { name: /^Memory in the last 5 minutes/ })).toBeVisible()

    const menu = async (name: string, deed: string) => {
      await row(name)
        .getByRole('button', { name: /^Actions for/ })
        .click()
      await row(name).getByRole('button', { name: deed }).click()
    }
    await menu(names[0]!, 'Copy diagnostics')
    await expect(page.getByRole('status').getByText('Diagnostics copied.')).toBeVisible()
    const report = await page.evaluate(() => navigator.clipboard.readText())
    expect(report).toContain(ids[0]!)
    expect(report).toContain('tool_approval Bash of claude')
    expect(report).not.toContain(`touch ${names[0]!.split(' ')[0]}`)

    await menu(names[1]!, 'Kill…')
    await page.getByRole('dialog').getByRole('button', { name: 'Kill' }).click()
    await expect(row(names[1]!)).toHaveCount(0)
    await menu(names[2]!, 'Force…')
    await page.getByRole('dialog').getByRole('button', { name: 'Force' }).click()
    await expect(row(names[2]!)).toHaveCount(0)
    await expect(row(names[0]!)).toBeVisible()

    await page.getByRole('button', { name: /^Archive \d+ ended/ }).click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Archive/ })
      .click()
    await expect(page.getByRole('status').getByText(/archived\.$/)).toBeVisible()
    await rest.post(`/api/sessions/${ids[0]}/kill`, {})
  },
)

test(
  'a token in the admin area is created, used and revoked, and members see only their own',
  { tag: '@newest' },
  async ({ page, playwright, server }) => {
    await page.goto(`${server.url}/admin/tokens`)
    const name = own('script')
    await page.getByRole('textbox', { name: 'Name' }).fill(name)
    await page.getByLabel('Role').selectOption('member')
    await page.getByRole('button', { name: 'Create token' }).click()
    const secret = await page.getByRole('status').locator('code').innerText()
    await expect(page.getByRole('row', { name: new RegExp(name) })).toContainText('member')
    const http = await playwright.request.newContext({ extraHTTPHeaders: { Authorization: `Bearer ${secret}` } })
    expect((await http.get(`${server.url}/api/grants`)).status()).toBe(200)
    for (const closed of ['/metrics', '/api/audit', '/api/processes', '/api/users'])
      expect((await http.get(`${server.url}${closed}`)).ok()).toBe(false)
    await page.getByRole('button', { name: `Revoke token ${name}` }).click()
    await expect(page.getByRole('row', { name: new RegExp(name) })).toHaveCount(0)
    expect((await http.get(`${server.url}/api/me`)).status()).toBe(401)
    await http.dispose()

    // A person is brought in, signed in, and that sign-in ended from here.
    await page.getByRole('link', { name: 'People' }).click()
    const ada = own('Ada')
    await page.getByRole('textbox', { name: 'Name' }).fill(ada)
    await page.getByRole('button', { name: 'Add person' }).click()
    const address = await page.getByRole('status').locator('code').innerText()
    const hers = await (await page.context().browser()!.newContext()).newPage()
    await hers.goto(address)
    await hers.getByRole('link', { name: 'Later' }).click()
    await App.expectSignedIn(hers)
    await hers.goto(`${server.url}/admin`)
    await expect(hers.getByRole('heading', { name: 'Tokens' })).toBeVisible()
    await expect(hers.getByRole('navigation', { name: 'Admin pages' }).getByRole('link')).toHaveText([
      'Tokens',
      'Projects',
      'Permissions',
    ])
    await page.getByRole('button', { name: `Devices of ${ada}` }).click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Sign out/ })
      .click()
    await expect(page.getByRole('dialog').getByText('Not signed in on any device.')).toBeVisible()
    await App.expectSignedOut(hers)
    await hers.context().close()
  },
)

test('a grant is listed, used and revoked, and Claude asks again', async ({ page, folder, rest, server }) => {
  const id = await rest.start(prompt('Make s1.', [bash('touch s1')], [text('One.')]), { cwd: folder })
  const app = await App.openSession(page, id, server.url)
  await expect(app.card()).toBeVisible()
  const request = (await rest.state(id)).pending_requests[0]! as {
    request_id: string
    permission_suggestions?: { type: string }[]
  }
  const rules = request
    .permission_suggestions!.filter((s) => s.type === 'addRules')
    .map((s) => ({ ...s, destination: 'session' }))
  await rest.post(`/api/pending/${request.request_id}/response`, {
    request_type: 'tool_approval',
    decision: 'allow',
    updated_permissions: rules,
  })
  await expect(app.said('One.')).toBeVisible()
  await app.send(prompt('Again.', [bash('touch s1')], [text('Two.')]))
  await expect(app.said('Two.')).toBeVisible()

  await page.goto(`${server.url}/admin/grants`)
  const row = page
    .getByRole('row')
    .filter({ hasText: 'Bash(touch s1 *)' })
    .filter({ has: page.locator(`a[href="/sessions/${id}"]`) })
  await expect(row).toContainText('this session')
  await expect(row).toContainText('about 1, last')
  await row.getByRole('button', { name: 'Revoke Bash(touch s1 *)' }).click()
  await expect(page.getByRole('status').getByText('1 running session asks again.')).toBeVisible()
  await expect(row).toHaveCount(0)

  await app.show(id)
  await app.send(prompt('Once more.', [bash('touch s1')], [text('Three.')]))
  await expect(app.card('touch s1')).toBeVisible()
  await rest.post(`/api/sessions/${id}/kill`, {})
})

test(
  'the audit log is filtered, opened and exported, and records a changed setting',
  { tag: '@newest' },
  async ({ page, scripted, rest, server }) => {
    const title = own('Recorded')
    const id = await rest.start(play('Make two.', [bash('touch one')], [bash('touch two')], [text('Done.')]), {
      cwd: scripted,
      title,
    })
    const app = await App.openSession(page, id, server.url)
    await app.approveEdited(app.card('touch one'), 'touch other')
    await app.deny(app.card('touch two'), 'not today')

    await page.goto(`${server.url}/admin/audit`)
    await expect(page.getByRole('status').getByText(/^Verified up to entry \d+ at/)).toBeVisible()
    await page.getByRole('textbox', { name: 'Session' }).fill(id)
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    const entries = page.getByRole('list', { name: 'Audit log' }).getByRole('listitem')
    await expect(entries).toHaveCount(2)
    await page.getByLabel('Event').selectOption('denied')
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await expect(entries).toHaveCount(1)
    await expect(entries.first()).toContainText('Denied')
    await page.getByLabel('Event').selectOption('answered')
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await expect(entries.first()).toContainText('edited')
    await entries.first().getByRole('button').click()
    await expect(entries.first().getByText('touch other').first()).toBeVisible()
    await expect(entries.first().getByText('touch one').first()).toBeVisible()
    await expect(entries.first().getByText(/· waited/)).toBeVisible()
    await expect(entries.first().getByRole('link', { name: 'Open session' })).toHaveAttribute('href', `/sessions/${id}`)
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Export as JSON lines' }).click()
    const lines = readFileSync(await (await download).path(), 'utf8')
      .trim()
      .split('\n')
      .map((l) => JSON.parse(l))
    expect(lines.some((l) => l.entry.session_id === id && l.entry.what === 'denied')).toBe(true)
    expect(lines.every((l, i) => l.seq === i + 1 && /^[0-9a-f]{64}$/.test(l.hash))).toBe(true)

    await page.getByRole('link', { name: 'Server settings' }).click()
    const days = page.getByRole('spinbutton', { name: 'Audit log retention' })
    await days.fill('3650')
    await page.getByRole('button', { name: 'Save: Audit log retention' }).click()
    await expect(page.getByText(/Changed by .*, /)).toBeVisible()
    await expect(days).toHaveValue('3650')
    await page.getByRole('link', { name: 'Audit log' }).click()
    await expect(entries.first()).toContainText('audit_days = 3650')
    await rest.post(`/api/sessions/${id}/kill`, {})
  },
)

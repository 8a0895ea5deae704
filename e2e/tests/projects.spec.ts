import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { App } from '../app.ts'
import { expect, signInContext, test } from '../fixtures.ts'
import { bash, play, prompt, text } from '../script.ts'
import { token } from '../token.ts'

const own = (name: string) => `${name} ${Math.random().toString(36).slice(2, 8)}`

test('two people in one project: who sees it, who answers, and two who must approve @newest', async ({
  browser,
  page,
  scripted,
  rest,
  server,
  playwright,
}) => {
  const http = await playwright.request.newContext({ extraHTTPHeaders: { Authorization: `Bearer ${token}` } })
  const somebody = async (name: string) => {
    await http.post(`${server.url}/api/users`, { data: { name, role: 'member', password: 'four words of mine' } })
    // With links that one token made they would be one person to the rule.
    const context = await browser.newContext()
    await signInContext(context, server, { username: name, password: 'four words of mine' })
    const tab = await context.newPage()
    await tab.goto(server.url)
    await App.expectSignedIn(tab)
    return { name, tab }
  }
  const ana = await somebody(own('Ana'))
  const ben = await somebody(own('Ben'))
  const name = own('api-server')
  const session = await rest.start(
    play('Make what two people want.', [bash('touch for-two')], [text('Made by two.')]),
    { cwd: scripted },
  )

  // Outside of a project everybody sees it.
  const bens = await App.openSession(ben.tab, session, server.url)
  await expect(bens.approveButton(bens.card())).toBeVisible()

  await page.goto(`${server.url}/admin/projects`)
  await page.getByRole('button', { name: 'New project' }).click()
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.getByLabel('Folders, one per line').fill(scripted)
  await page.getByRole('button', { name: 'Create project' }).click()
  const members = page.getByRole('region', { name: 'Members' })
  await expect(members.getByText('No members yet.')).toBeVisible()

  // Not his any more: it goes from the open tab, with a sentence, and stays away.
  await expect(ben.tab.getByText('This session doesn’t exist, or you don’t have access to it.')).toBeVisible()
  await expect(bens.card()).toHaveCount(0)
  await expect(ben.tab.getByRole('navigation').getByText('Make what two people want.')).toHaveCount(0)

  const add = async (who: string, role: string) => {
    await members.getByLabel('Person').selectOption({ label: who })
    await members.locator('form').getByLabel(/^Role/).selectOption(role)
    await members.getByRole('button', { name: 'Add' }).click()
    await expect(members.getByLabel(`Role of ${who}`)).toBeVisible()
  }
  await add(ana.name, 'member')
  await add(ben.name, 'viewer')
  const rules = page.getByRole('region', { name: 'Rules for approvals' })
  await rules.getByRole('button', { name: 'Add rule' }).click()
  await expect(rules.getByText('Bash: 2 people')).toBeVisible()

  // A viewer of the project sees the card and no buttons.
  await App.openSession(ben.tab, session, server.url)
  await expect(bens.card().getByText(`In ${name}, 2 people must approve this.`)).toBeVisible()
  await expect(bens.approveButton(bens.card())).toHaveCount(0)
  await expect(bens.composer()).not.toBeEditable()

  const anas = await App.openSession(ana.tab, session, server.url)
  await anas.approve(anas.card())
  await expect(anas.card().getByText('Approved by you. 1 more approval needed.')).toBeVisible()
  await expect(bens.card().getByText(`Approved by ${ana.name}. 1 more approval needed.`)).toBeVisible()
  await anas.card().getByRole('button', { name: 'Undo my approval' }).click()
  await expect(bens.card().getByText(`In ${name}, 2 people must approve this.`)).toBeVisible()
  await anas.approve(anas.card())
  await expect(bens.card().getByText(`Approved by ${ana.name}. 1 more approval needed.`)).toBeVisible()
  expect(existsSync(join(scripted, 'for-two'))).toBe(false)

  // A new role reaches the open tab.
  await members.getByLabel(`Role of ${ben.name}`).selectOption('member')
  await bens.approve(bens.card())
  for (const app of [anas, bens]) {
    await expect(app.card()).toHaveCount(0)
    await expect(app.said('Made by two.')).toBeVisible()
  }
  expect(existsSync(join(scripted, 'for-two'))).toBe(true)

  await members.getByRole('button', { name: `Remove ${ben.name}` }).click()
  await expect(ben.tab.getByText('This session doesn’t exist, or you don’t have access to it.')).toBeVisible()

  await page.getByRole('button', { name: 'Delete project' }).click()
  await page.getByRole('button', { name: `Yes, delete ${name}` }).click()
  await expect(page.getByText(name)).toHaveCount(0)
  await rest.post(`/api/sessions/${session}/kill`, {})
  for (const tab of [ana.tab, ben.tab]) await tab.context().close()
  await http.dispose()
})

test('a limit is shown before it is reached, and the message above it waits @newest', async ({
  browser,
  page,
  folder,
  server,
  playwright,
}) => {
  const http = await playwright.request.newContext({ extraHTTPHeaders: { Authorization: `Bearer ${token}` } })
  const name = own('Dora')
  const made = await (
    await http.post(`${server.url}/api/users`, { data: { name, role: 'member', password: 'four words of mine' } })
  ).json()
  const link = await (await http.post(`${server.url}/api/users/${made.user_id}/sign_in_link`, { data: {} })).json()
  const tab = await (await browser.newContext()).newPage()
  await tab.goto(`${server.url}/sign-in#${link.token}`)
  await App.expectSignedIn(tab)

  await page.goto(`${server.url}/admin/people`)
  const limit = async (cost: string) => {
    await page.getByRole('button', { name: `Actions for ${name}` }).click()
    await page.getByRole('button', { name: `Limits of ${name}` }).click()
    const dialog = page.getByRole('dialog', { name: `Limits of ${name}` })
    await dialog.getByLabel('Cost per day (USD)').fill(cost)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await expect(page.getByText(`Limits for ${name} saved.`)).toBeVisible()
  }
  await limit('0.01')

  await tab.getByRole('button', { name: 'New session' }).first().click()
  const dialog = tab.getByRole('dialog', { name: 'New session' })
  await expect(dialog.getByText('Your sessions: $0.0000 of $0.0100 today (UTC)')).toBeVisible()
  await dialog.locator('#new-cwd').fill(folder)
  const dear = {
    blocks: [text('That was dear.')],
    usage: { input_tokens: 1000, output_tokens: 2000, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  }
  await dialog.locator('#new-prompt').fill(prompt('Spend what there is.', dear, [text('More was allowed.')]))
  await dialog.getByRole('button', { name: 'Start session' }).click()
  await expect(tab.getByText('That was dear.')).toBeVisible()

  const app = App.of(tab)
  await app.send('And once more.')
  const why = tab.getByRole('main').getByText(`Sessions of ${name} are limited to $0.0100 a day and have cost $`)
  await expect(why).toBeVisible()
  await expect(why).toContainText('Claude continues at 00:00 UTC or when an admin raises the limit.')
  await expect(tab.getByRole('list', { name: 'Queued messages' }).getByText('And once more.')).toBeVisible()

  // Nothing was lost: with a higher limit it is said at once.
  await limit('50')
  await expect(tab.getByText('More was allowed.', { exact: true })).toBeVisible()
  await expect(why).toHaveCount(0)
  await tab.context().close()
  await http.dispose()
})

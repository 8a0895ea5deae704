import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { bash, play, text } from '../script.ts'
import { startServer } from '../server.ts'

const password = 'four words of mine'

// The server of this worker is shared, so every test has people of its own.
const own = (name: string) => `${name} ${Math.random().toString(36).slice(2, 8)}`

test('the first start leads to the page for the first admin @newest @browsers', async ({
  browser,
  claudePath,
  model,
}) => {
  const fresh = await startServer({ claudePath, modelURL: model.url, bootstrap: false })
  const page = await (await browser.newContext()).newPage()
  await page.goto(fresh.signInAddress())
  await expect(page.getByRole('heading', { name: 'Welcome' })).toBeVisible()
  await page.getByLabel('Name').fill('Ada')
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Get started' }).click()
  // Then what Claude needs, and one of two ways on: a folder, or the demo.
  await expect(page.getByRole('heading', { name: 'Welcome, Ada' })).toBeVisible()
  await expect(page.getByText('Claude Code is installed')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Try the demo session' })).toBeVisible()
  await page.getByLabel('Folder').fill(fresh.workspace)
  await page.getByRole('button', { name: 'Continue' }).click()
  await expect(page.getByRole('dialog').getByLabel('Folder')).toHaveValue(fresh.workspace)
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await App.expectSignedIn(page)

  const other = await (await browser.newContext()).newPage()
  await other.goto(`${fresh.url}/sign-in`)
  await other.getByLabel('Name', { exact: true }).fill('ada')
  await other.getByLabel('Password', { exact: true }).fill(password)
  await other.getByRole('button', { name: 'Sign in' }).click()
  await App.expectSignedIn(other)

  // A new password ends the sign-in of the other browser, at once.
  await page.getByRole('link', { name: 'Account: Ada' }).click()
  const change = page.getByRole('region', { name: 'Password' })
  await change.getByLabel('Current password').fill(password)
  await change.getByLabel('New password').fill('five more words of mine')
  await page.getByRole('button', { name: 'Change password' }).click()
  await expect(page.getByText('Password changed.')).toBeVisible()
  await App.expectSignedOut(other)
  await App.expectSignedIn(page)
  for (const p of [page, other]) await p.context().close()
  await fresh.stop()
})

test('an admin invites a viewer, makes her a member and disables her @newest', async ({
  browser,
  page,
  scripted,
  rest,
  server,
}) => {
  const id = await rest.start(play('Make what Ada looks at.', [bash('touch for-ada')], [text('Made.')]), {
    cwd: scripted,
  })
  const name = own('Ada')
  await page.goto(`${server.url}/admin/people`)
  const people = page.getByRole('main')
  await people.getByRole('textbox', { name: 'Name' }).fill(name)
  await people.locator('form').getByRole('combobox').selectOption('viewer')
  await people.getByRole('button', { name: 'Add person' }).click()
  const address = page.getByRole('status').locator('code')
  await expect(address).toContainText('/sign-in#')

  const ada = await (await browser.newContext()).newPage()
  await ada.goto(await address.innerText())
  await ada.getByRole('link', { name: 'Later' }).click()
  await App.expectSignedIn(ada)
  const hers = await App.openSession(ada, id, server.url)
  await expect(hers.card()).toBeVisible()
  await expect(hers.approveButton(hers.card())).toHaveCount(0)

  await people.getByLabel(`Role of ${name}`).selectOption('member')
  await expect(hers.approveButton(hers.card())).toBeVisible()

  await people.getByRole('button', { name: `Actions for ${name}` }).click()
  await people.getByRole('button', { name: 'Disable' }).click()
  await App.expectSignedOut(ada)
  await ada.context().close()
  await rest.post(`/api/sessions/${id}/kill`, {}) // the list of other tests is theirs
})

test('a token is created with a scope, shown once and revoked @newest', async ({ page, playwright, server }) => {
  await App.home(page, server.url)
  await page.getByRole('link', { name: /^Account:/ }).click()
  await page.getByRole('link', { name: 'Manage API tokens' }).click()
  const tokens = page.getByRole('main')
  const name = own('phone')
  await tokens.getByLabel('Name').fill(name)
  await tokens.getByLabel('Role').selectOption('viewer')
  await tokens.getByRole('button', { name: 'Create token' }).click()
  const secret = await page.getByRole('status').locator('code').innerText()
  const http = await playwright.request.newContext({ extraHTTPHeaders: { Authorization: `Bearer ${secret}` } })
  expect((await (await http.get(`${server.url}/api/me`)).json()).user.role).toBe('viewer')
  await tokens.getByRole('button', { name: `Revoke token ${name}` }).click()
  await expect(tokens.getByRole('row', { name })).toHaveCount(0)
  expect((await http.get(`${server.url}/api/me`)).status()).toBe(401)
  await http.dispose()
})

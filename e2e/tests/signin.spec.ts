import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { CDPSession, Page } from '@playwright/test'

import { App } from '../app.ts'
import { asPage, expect, test } from '../fixtures.ts'
import { program } from '../machine.ts'
import { clientSecret, startProvider } from '../provider.ts'
import { bash, play, text } from '../script.ts'
import { startServer } from '../server.ts'
import { REST } from '../wire.ts'

const password = 'four words of mine'

// A device of the page that keeps passkeys and always sees a finger.
async function withAuthenticator(page: Page): Promise<{ cdp: CDPSession; authenticatorId: string }> {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return { cdp, authenticatorId }
}

async function signOut(page: Page) {
  await page.context().clearCookies()
  await page.goto(new URL('/sign-in', page.url()).href)
}

// Every option of a select can be read whole.
const cutSelects = (page: Page) =>
  page
    .getByRole('dialog')
    .locator('select')
    .evaluateAll((all) =>
      (all as HTMLSelectElement[])
        .filter((select) => {
          const whole = select.cloneNode(true) as HTMLSelectElement
          whole.style.position = 'absolute'
          whole.style.width = 'max-content'
          select.after(whole)
          const cut = select.getBoundingClientRect().width + 1 < whole.getBoundingClientRect().width
          whole.remove()
          return cut
        })
        .map((select) => select.outerHTML.slice(0, 200)),
    )

test('set-up, passkeys, and what ends with them @newest', async ({ browser, claudePath, model }) => {
  const fresh = await startServer({ claudePath, modelURL: model.url, bootstrap: false })
  const atName = (address: string) => address.replace('127.0.0.1', 'localhost')
  const page = await (await browser.newContext()).newPage()
  const { cdp, authenticatorId } = await withAuthenticator(page)
  await page.goto(atName(fresh.signInAddress()))
  // The page before it has a Name, too.
  await expect(page.getByRole('heading', { name: 'Welcome' })).toBeVisible()
  await page.getByLabel('Name').fill('Ada')
  await page.getByRole('button', { name: 'Create passkey' }).click()
  await page.getByRole('link', { name: 'Skip' }).click()
  await App.expectSignedIn(page) // and there is no password
  expect((await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials).toHaveLength(1)

  // The browser offers it where it fills in names, and this one chooses at once.
  await signOut(page)
  await App.expectSignedIn(page)

  // The button does without that.
  await page.addInitScript(() => {
    PublicKeyCredential.isConditionalMediationAvailable = () => Promise.resolve(false)
  })
  await signOut(page)
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await App.expectSignedIn(page)

  // Who is invited chooses too: a password here, and a passkey beside it.
  const made = await (
    await page.request.post(atName(`${fresh.url}/api/users`), {
      headers: await asPage(page),
      data: { name: 'Bob', role: 'viewer' },
    })
  ).json()
  const link = await (
    await page.request.post(atName(`${fresh.url}/api/users/${made.user_id}/sign_in_link`), {
      headers: await asPage(page),
      data: {},
    })
  ).json()
  const bob = await (await browser.newContext()).newPage()
  await withAuthenticator(bob)
  await bob.goto(atName(`${fresh.url}/sign-in#${link.token}`))
  await expect(bob.getByRole('heading', { name: 'Hello, Bob' })).toBeVisible()
  await bob.getByLabel('Password').fill(password)
  await bob.getByRole('button', { name: 'Get started' }).click()
  await expect(bob.getByRole('heading', { name: 'Sign in without a password' })).toBeVisible()
  await bob.getByRole('button', { name: 'Create passkey' }).click()
  await App.expectSignedIn(bob)
  await signOut(bob)
  await App.expectSignedIn(bob)
  await bob.context().close()

  // The account page gives a password to who has none; after that it asks for the current one.
  const toAccount = page.getByRole('link', { name: 'Account: Ada' })
  await toAccount.click()
  await expect(page).toHaveURL(/\/account$/)
  const account = page.getByRole('main')
  const own = account.getByRole('region', { name: 'Password' })
  await own.getByLabel('New password').fill(password)
  await own.getByRole('button', { name: 'Change password' }).click()
  await expect(account.getByText('Password changed.')).toBeVisible()
  await expect(own.getByLabel('Current password')).toBeVisible()
  await page.goBack()
  await expect(page).not.toHaveURL(/account/)

  // A second one, named.
  await toAccount.click()
  await expect(account.getByRole('heading', { level: 1, name: 'Account: Ada' })).toBeVisible()
  expect(await cutSelects(page)).toEqual([])
  const passkeys = account.getByRole('region', { name: 'Passkeys' })
  await expect(passkeys.getByText('First device')).toBeVisible()
  await expect(
    account
      .getByRole('region', { name: 'Signed-in devices' })
      .getByText(/by passkey/)
      .first(),
  ).toBeVisible()
  await passkeys.getByLabel('Name').fill('The same laptop')
  await passkeys.getByLabel('Current password').fill(password)
  await passkeys.getByRole('button', { name: 'Create passkey' }).click()
  await expect(account.getByText('This device already has a passkey for you.')).toBeVisible()

  // Another browser, by password; ended here, it knows at once.
  const other = await (await browser.newContext()).newPage()
  await other.goto(`${fresh.url}/sign-in`)
  await expect(other.getByText('Passkeys do not work at an address')).toBeVisible()
  await other.getByLabel('Name', { exact: true }).fill('Ada')
  await other.getByLabel('Password', { exact: true }).fill(password)
  await other.getByRole('button', { name: 'Sign in' }).click()
  await App.expectSignedIn(other)
  await page.reload()
  await account
    .locator('li', { hasText: 'by password' })
    .getByRole('button', { name: /^Sign out / })
    .last()
    .click()
  await App.expectSignedOut(other)

  await passkeys.getByRole('button', { name: 'Remove passkey First device' }).click()
  await expect(account.getByText('First device removed')).toBeVisible()
  await App.expectSignedIn(page)
  await signOut(page)
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await expect(page.getByText('This passkey is unknown here')).toBeVisible()
  for (const p of [page, other]) await p.context().close()
  await fresh.stop()
})

test('people of an identity provider sign in, and a second person answers in their own name @newest @nightly', async ({
  browser,
  model,
  playwright,
}) => {
  const provider = await startProvider()
  const secret = join(mkdtempSync(join(tmpdir(), 'sayso-e2e-')), 'secret')
  writeFileSync(secret, clientSecret)
  const server = await startServer({
    claudePath: program('claudetest'),
    modelURL: model.url,
    arguments: (url) => [
      '--public-url',
      url,
      '--oidc-issuer',
      provider.url,
      '--oidc-client-id',
      'sayso',
      '--oidc-client-secret-file',
      secret,
      '--oidc-name',
      'Example',
      '--oidc-role-claim',
      'groups',
      '--oidc-role',
      'dev=member',
      '--oidc-role',
      'ops=admin',
    ],
  })
  const come = async (claims: Record<string, unknown>) => {
    const page = await (await browser.newContext()).newPage()
    provider.is(claims)
    await page.goto(`${server.url}/sign-in?next=/inbox`)
    await page.getByRole('button', { name: 'Continue with Example' }).click()
    await page.getByRole('link', { name: 'Continue' }).click()
    return page
  }
  const admin = await come({ sub: '1', preferred_username: 'Ada', groups: ['ops'] })
  await App.expectSignedIn(admin)
  await expect(admin).toHaveURL(`${server.url}/inbox`)
  const member = await come({ sub: '2', preferred_username: 'Grace', groups: ['dev'] })
  await App.expectSignedIn(member)

  const refused = await come({ sub: '3', preferred_username: 'Eve', groups: [] })
  await expect(refused.getByText('you have no role here')).toBeVisible()
  expect(refused.url()).toBe(`${server.url}/sign-in`) // without the code
  provider.is({})
  await refused.getByRole('button', { name: 'Continue with Example' }).click()
  await refused.getByRole('link', { name: 'Continue' }).click()
  await expect(refused.getByText('The identity provider did not sign you in.')).toBeVisible()

  const http = await playwright.request.newContext()
  const rest = new REST(http, server)

  // Who has an account links the identity to it, comes in by either, and unlinks.
  await rest.post('/api/users', { name: 'Lin', role: 'member', password })
  provider.is({ sub: '4', preferred_username: 'Somebody', groups: [] })
  const lin = refused
  await lin.goto(`${server.url}/sign-in`)
  await lin.getByLabel('Name', { exact: true }).fill('Lin')
  await lin.getByLabel('Password', { exact: true }).fill(password)
  await lin.getByRole('button', { name: 'Sign in' }).click()
  await lin.getByRole('link', { name: 'Account: Lin' }).click()
  const identities = lin.getByRole('main').getByRole('region', { name: 'Identity provider' })
  await identities.getByLabel('Current password').fill(password)
  await identities.getByRole('button', { name: 'Link Example' }).click()
  await lin.getByRole('link', { name: 'Continue' }).click()
  await App.expectSignedIn(lin)
  expect(lin.url()).not.toContain('code=')
  await signOut(lin)
  await lin.getByRole('button', { name: 'Continue with Example' }).click()
  await lin.getByRole('link', { name: 'Continue' }).click()
  await lin.getByRole('link', { name: 'Account: Lin' }).click()
  await identities.getByRole('button', { name: `Unlink ${provider.url}` }).click()
  await expect(lin.getByText('Unlinked. Devices signed in')).toBeVisible()
  await App.expectSignedIn(lin)

  const id = await rest.start(play('Make what Grace allows.', [bash('touch for-grace')], [text('Made.')]), {
    cwd: server.workspace,
  })
  const hers = await App.openSession(member, id, server.url)
  const his = await App.openSession(admin, id, server.url)
  await expect(his.card()).toBeVisible()
  await hers.approve(hers.card())
  await expect(admin.getByText(/by Grace/).first()).toBeVisible()
  await http.dispose()
  for (const page of [admin, member, refused]) await page.context().close()
  await server.stop()
  await provider.close()
})

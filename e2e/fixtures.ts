// What every browser test gets: a server for its worker, a signed-in browser,
// and the check that no page said anything on its console.
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'

import { type APIRequestContext, type BrowserContext, type Cookie, type Page, test as plain } from '@playwright/test'

import { checkAgreement } from './agreement.ts'
import { type Model, type Server, scriptedFolder, startModel, startServer } from './server.ts'
import { token } from './token.ts'
import { REST } from './wire.ts'

export interface ServerOptions {
  claudePath: string
}

interface Person {
  /** What the undo window applies to; every answer counts at once unless a test is about that. */
  undo: 'usual' | 'never'
  /** Whether the person goes on to the next request as soon as they can, unless a test is about that. */
  goesOn: boolean
}

interface ForWorker extends ServerOptions {
  model: Model
  server: Server
  signedIn: { cookies: Cookie[]; pageKey: string } // one sign-in at the server of the worker
}

interface ForTest {
  folder: string // a fresh one in the workspace, where the real CLI runs
  scripted: string // another, where the scripted CLI runs, for tests of the app alone: it takes far less CPU
  rest: REST
  signIn(context: BrowserContext, to?: Server): Promise<void>
}

// Signs in as a script does, and returns the page key that goes with the cookie.
async function login(http: APIRequestContext, to: Server, as: object = { token: to.signInSecret() }): Promise<string> {
  const answer = await http.post(`${to.url}/api/login`, { data: as })
  if (!answer.ok()) throw new Error(`sign-in: ${answer.status()} ${await answer.text()}`)
  return (await answer.json()).page_key
}

// Leaves a page key where the pages of an origin look for it, once: a later sign-in of theirs counts.
async function givePageKey(context: BrowserContext, origin: string, pageKey: string): Promise<void> {
  await context.addInitScript(
    ([origin, pageKey]) => {
      if (location.origin !== origin || localStorage.getItem('sayso:given') === pageKey) return
      localStorage.setItem('sayso:page-key', pageKey)
      localStorage.setItem('sayso:given', pageKey)
    },
    [origin, pageKey] as const,
  )
}

// Signs a browser in; as is what POST /api/login takes, an admin's one-time sign-in unless given.
export async function signInContext(context: BrowserContext, to: Server, as?: object): Promise<void> {
  await givePageKey(context, to.url, await login(context.request, to, as))
}

// Gives each page of a context a window of its own: Chromium draws the page of a tab behind another
// once a second, and everything done in it, in the app as in a test, waits for that.
function openInWindows(context: BrowserContext): void {
  if (context.browser()?.browserType().name() !== 'chromium') return
  const newTab = context.newPage.bind(context)
  context.newPage = async () => {
    const [first] = context.pages()
    const browser = context.browser()
    if (!first || !browser) return newTab()
    const ofPage = await context.newCDPSession(first)
    const { targetInfo } = await ofPage.send('Target.getTargetInfo')
    await ofPage.detach()
    const ofBrowser = await browser.newBrowserCDPSession()
    const [page] = await Promise.all([
      context.waitForEvent('page'),
      ofBrowser.send('Target.createTarget', {
        url: 'about:blank',
        newWindow: true,
        browserContextId: targetInfo.browserContextId,
      }),
    ])
    await ofBrowser.detach()
    return page
  }
}

// Lets a page go on to the next request as soon as it can.
export function goOn(page: Page): void {
  const next = page
    .getByRole('button', { name: 'Next request', exact: true })
    .or(page.locator('.panel > header').getByRole('button', { name: 'Done', exact: true }))
    .first()
  void page.addLocatorHandler(next, () => next.click({ timeout: 2_000 }).catch(() => null), { noWaitAfter: true })
  // A hand leaves what it pressed; before that nothing more is decided.
  let far = false
  void page.addLocatorHandler(
    page.locator('.outcome').first(),
    () => page.mouse.move((far = !far) ? 4 : 44, 4).catch(() => undefined),
    { noWaitAfter: true },
  )
}

// The headers with which requests beside a page act as it does.
export const asPage = async (page: Page) => ({
  'X-Sayso-Page-Key': (await page.evaluate(() => localStorage.getItem('sayso:page-key'))) ?? '',
})

export const test = plain.extend<ForTest & Person, ForWorker>({
  undo: ['never', { option: true }],
  goesOn: [true, { option: true }],

  claudePath: ['', { option: true, scope: 'worker' }],

  model: [
    async ({}, use) => {
      const model = await startModel()
      await use(model)
      await model.stop()
    },
    { scope: 'worker' },
  ],

  server: [
    async ({ claudePath, model }, use) => {
      const server = await startServer({ claudePath, scripted: true, modelURL: model.url, agrees: false }) // each test looks at what it has left
      await use(server)
      await server.stop()
    },
    { scope: 'worker' },
  ],

  signedIn: [
    async ({ playwright, server }, use) => {
      const http = await playwright.request.newContext()
      const pageKey = await login(http, server)
      await use({ cookies: (await http.storageState()).cookies, pageKey })
      await http.dispose()
    },
    { scope: 'worker' },
  ],

  baseURL: async ({ server }, use) => use(server.url),

  folder: async ({ server }, use) => use(mkdtempSync(join(server.workspace, 'project-'))),

  scripted: async ({ server }, use) => use(mkdtempSync(join(server.workspace, scriptedFolder))),

  rest: async ({ playwright, server }, use) => {
    const http = await playwright.request.newContext()
    await use(new REST(http, server))
    await http.dispose()
  },

  signIn: async ({ server, signedIn }, use) => {
    await use(async (context, to = server) => {
      // Also by another address of the same server: the cookie knows no ports, the page key does.
      if (to.folder === server.folder) {
        await context.addCookies(signedIn.cookies)
        return givePageKey(context, to.url, signedIn.pageKey)
      }
      // A sign-in ends the one whose cookie comes with it, and that is all tests' of the worker.
      await context.clearCookies()
      await signInContext(context, to)
    })
  },

  // All must agree at the end, see agreement.ts, and every page that a test opens in its context must stay silent: an error on
  // the console, an exception, or something that the CSP blocked, fails it.
  context: async ({ context, server, signedIn, signIn, undo, goesOn }, use, info) => {
    await context.addInitScript((undo) => {
      // A blank page has no storage.
      if (location.protocol.startsWith('http') && localStorage.getItem('sayso:undo') === null)
        localStorage.setItem('sayso:undo', undo)
    }, undo)
    if (goesOn) context.on('page', goOn)
    openInWindows(context)
    const complaints: string[] = []
    // The app asks about a folder while it is typed, and 400 is the answer for one that is not there.
    const folderRefused = (text: string, url: string) =>
      text.includes('status of 400') && new URL(url).pathname.startsWith('/api/folders')
    context.on('console', (message) => {
      if (['error', 'warning'].includes(message.type()) && !folderRefused(message.text(), message.location().url))
        complaints.push(`${message.type()}: ${message.text()} (${message.location().url})`)
    })
    context.on('weberror', (thrown) => complaints.push(`exception: ${thrown.error().stack ?? thrown.error().message}`))
    // Nor is a credential ever part of an address, but behind the # of a one-time sign-in, which no server sees.
    context.on('request', (request) => {
      if (request.url().includes(token)) complaints.push(`a token in an address: ${request.url()}`)
    })
    await context.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (v) =>
        console.error(`CSP: ${v.violatedDirective} ${v.blockedURI}`),
      )
    })
    await signIn(context)
    const since = Date.now() / 1000
    await use(context)
    if (info.errors.length === 0 && !info.annotations.some((a) => a.type === 'parts differ'))
      await checkAgreement({ url: server.url, since, tab: context.pages()[0], pageKey: signedIn.pageKey })
    const allowed = info.annotations.filter((a) => a.type === 'allowed on the console').map((a) => a.description ?? '')
    const wrong = complaints.filter((c) => !allowed.some((a) => c.includes(a)))
    if (wrong.length > 0) throw new Error(`The pages of this test complained:\n${wrong.join('\n')}`)
  },
})

// What a browser says on its console while its server is away.
export const awayMessages = [
  'WebSocket connection to',
  'ERR_CONNECTION_REFUSED',
  'ERR_CONNECTION_RESET',
  'ERR_EMPTY_RESPONSE',
  'establish a connection to the server', // as Firefox says
  'was interrupted while the page was loading',
]

export { expect } from '@playwright/test'

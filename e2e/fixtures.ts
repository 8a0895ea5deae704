// What every browser test gets: a server for its worker, a signed-in browser,
// and the check that no page said anything on its console.
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'

import { type APIRequestContext, type BrowserContext, type Cookie, test as plain } from '@playwright/test'

import { type Model, type Server, startModel, startServer, token } from './server.ts'
import { REST } from './wire.ts'

export interface ServerOptions {
  claudePath: string
}

interface ForWorker extends ServerOptions {
  model: Model
  server: Server
  cookies: Cookie[] // of one sign-in at the server of the worker
}

interface ForTest {
  folder: string // a fresh one in the workspace
  rest: REST
  signIn(context: BrowserContext, to?: Server): Promise<void>
}

async function signedIn(http: APIRequestContext, to: Server): Promise<void> {
  const answer = await http.post(`${to.url}/api/login`, { data: { token: to.signInSecret() } })
  if (!answer.ok()) throw new Error(`sign-in: ${answer.status()} ${await answer.text()}`)
}

export const test = plain.extend<ForTest, ForWorker>({
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
      const server = await startServer({ claudePath, modelURL: model.url })
      await use(server)
      await server.stop()
    },
    { scope: 'worker' },
  ],

  cookies: [
    async ({ playwright, server }, use) => {
      const http = await playwright.request.newContext()
      await signedIn(http, server)
      await use((await http.storageState()).cookies)
      await http.dispose()
    },
    { scope: 'worker' },
  ],

  baseURL: async ({ server }, use) => use(server.url),

  folder: async ({ server }, use) => use(mkdtempSync(join(server.workspace, 'project-'))),

  rest: async ({ playwright, server }, use) => {
    const http = await playwright.request.newContext()
    await use(new REST(http, server))
    await http.dispose()
  },

  signIn: async ({ server, cookies }, use) => {
    await use(async (context, to = server) => {
      if (to === server) return context.addCookies(cookies)
      // A sign-in ends the one whose cookie comes with it, and that is all tests' of the worker.
      await context.clearCookies()
      await signedIn(context.request, to)
    })
  },

  // Every page that a test opens in its context must stay silent: an error on
  // the console, an exception, or something that the CSP blocked, fails it.
  context: async ({ context, signIn }, use, info) => {
    const complaints: string[] = []
    context.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()} (${message.location().url})`)
    })
    context.on('weberror', (thrown) => complaints.push(`exception: ${thrown.error().stack ?? thrown.error().message}`))
    // Nor is a credential ever part of an address, but behind the # of a one-time sign-in, which no server sees.
    context.on('request', (request) => {
      if (request.url().includes(token)) complaints.push(`a token in an address: ${request.url()}`)
    })
    await context.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (v) => console.error(`CSP: ${v.violatedDirective} ${v.blockedURI}`))
    })
    await signIn(context)
    await use(context)
    const allowed = info.annotations.filter((a) => a.type === 'allowed on the console').map((a) => a.description ?? '')
    const wrong = complaints.filter((c) => !allowed.some((a) => c.includes(a)))
    if (wrong.length > 0) throw new Error(`The pages of this test complained:\n${wrong.join('\n')}`)
  },
})

// What a browser says on its console while its server is away.
export const awayMessages = ['WebSocket connection to', 'ERR_CONNECTION_REFUSED', 'ERR_CONNECTION_RESET', 'ERR_EMPTY_RESPONSE']

export { expect } from '@playwright/test'

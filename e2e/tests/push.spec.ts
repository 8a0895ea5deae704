import { createDecipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { chromium, chromiumArguments, program } from '../machine.ts'
import { bash, play, text } from '../script.ts'
import { startServer } from '../server.ts'
import { REST } from '../wire.ts'

test.use({ launchOptions: { executablePath: chromium('desktop'), args: chromiumArguments } })

/** Decrypts a push message like a browser (RFC 8291). */
function opened(body: Buffer, own: ReturnType<typeof createECDH>, auth: Buffer): Record<string, unknown> {
  const salt = body.subarray(0, 16)
  const server = body.subarray(21, 21 + body[20])
  const sealed = body.subarray(21 + body[20])
  const derive = (secret: Buffer, salt: Buffer, info: Buffer | string, size: number) =>
    Buffer.from(hkdfSync('sha256', secret, salt, info, size))
  const ikm = derive(
    own.computeSecret(server),
    auth,
    Buffer.concat([Buffer.from('WebPush: info\0'), own.getPublicKey(), server]),
    32,
  )
  const open = createDecipheriv(
    'aes-128-gcm',
    derive(ikm, salt, 'Content-Encoding: aes128gcm\0', 16),
    derive(ikm, salt, 'Content-Encoding: nonce\0', 12),
  )
  open.setAuthTag(sealed.subarray(-16))
  const plain = Buffer.concat([open.update(sealed.subarray(0, -16)), open.final()])
  return JSON.parse(plain.subarray(0, plain.lastIndexOf(2)).toString()) as Record<string, unknown>
}

test('a request that nobody looks at is pushed, shown, opened and withdrawn @newest', async ({
  model,
  page,
  context,
  request,
  signIn,
}) => {
  test.setTimeout(180_000)
  const own = createECDH('prime256v1')
  own.generateKeys()
  const auth = randomBytes(16)
  const bodies: Buffer[] = []
  const push = createServer((req, res) => {
    const parts: Buffer[] = []
    req.on('data', (part: Buffer) => parts.push(part))
    req.on('end', () => {
      bodies.push(Buffer.concat(parts))
      res.writeHead(201).end()
    })
  }).listen(0, '127.0.0.1')
  await once(push, 'listening')
  const server = await startServer({
    claudePath: program('claudetest'),
    modelURL: model.url,
    arguments: ['--alert-private', 'true'],
  })
  try {
    const rest = new REST(request, server)
    await signIn(context, server)
    await context.grantPermissions(['notifications'], { origin: server.url })
    // This browser has no push service, so the test receives its messages.
    await page.addInitScript(
      ({ endpoint, p256dh, auth }) => {
        PushManager.prototype.getSubscription = async () => null
        PushManager.prototype.subscribe = async () =>
          ({ toJSON: () => ({ endpoint, keys: { p256dh, auth } }) }) as unknown as PushSubscription
      },
      {
        endpoint: `http://127.0.0.1:${(push.address() as AddressInfo).port}/one`,
        p256dh: own.getPublicKey().toString('base64url'),
        auth: auth.toString('base64url'),
      },
    )
    await page.goto(`${server.url}/settings`)
    await page.getByRole('button', { name: 'Turn on notifications in this browser' }).click()
    await expect(page.getByText('Notifications are on in this browser.')).toBeVisible()
    await page.getByRole('button', { name: /^Send a test to Chrome/ }).click()
    await expect(page.getByText(/Test sent to/)).toBeVisible()
    expect(opened(bodies[0], own, auth)).toMatchObject({ title: 'Test notification' })

    // No page shows sayso now.
    await page.goto('about:blank')
    const id = await rest.start(play('Ask', [bash('touch pushed')], [text('Done.')]), {
      cwd: mkdtempSync(join(server.workspace, 'project-')),
      title: 'api-server',
    })
    await expect.poll(() => bodies.length, { timeout: 60_000 }).toBe(2)
    const [waiting] = (await rest.state(id)).pending_requests
    const shown = opened(bodies[1], own, auth)
    expect(shown).toMatchObject({
      kind: 'show',
      tag: waiting.request_id,
      title: 'Approval needed: Bash',
      body: 'api-server',
      path: `/sessions/${id}?request=${waiting.request_id}`,
    })

    await page.goto(server.url)
    await expect(page).toHaveTitle('(1) api-server · sayso')
    await expect(page.locator('link[rel=icon]')).toHaveAttribute('href', '/favicon-waiting.svg')
    const cdp = await context.newCDPSession(page)
    const registered = new Promise<string>((resolve) =>
      cdp.on(
        'ServiceWorker.workerRegistrationUpdated',
        ({ registrations }) => registrations[0] && resolve(registrations[0].registrationId),
      ),
    )
    await cdp.send('ServiceWorker.enable')
    const registrationId = await registered
    const deliver = (message: object) =>
      cdp.send('ServiceWorker.deliverPushMessage', {
        origin: server.url,
        registrationId,
        data: JSON.stringify(message),
      })
    const tags = () =>
      page.evaluate(async () => (await (await navigator.serviceWorker.ready).getNotifications()).map((n) => n.tag))
    // What is delivered to a worker that is not active yet is lost.
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined))
    await deliver(shown)
    await expect.poll(tags).toEqual([waiting.request_id])
    // A server that died before it recorded a message sends it again: it replaces the first one
    // without a sound.
    const said = () =>
      page.evaluate(async () =>
        (await (await navigator.serviceWorker.ready).getNotifications()).map((n) => [
          n.body,
          'renotify' in n && n.renotify,
        ]),
      )
    await deliver({ ...shown, body: 'once more' })
    await expect.poll(said).toEqual([['once more', false]])

    // A click on the notification, as the worker receives it, leads to the card.
    const [worker] = context.serviceWorkers()
    const clickNotification = () =>
      worker.evaluate(async () => {
        const scope = globalThis as unknown as EventTarget & {
          registration: ServiceWorkerRegistration
          NotificationEvent: new (type: string, init: object) => Event
        }
        const [notification] = await scope.registration.getNotifications()
        scope.dispatchEvent(new scope.NotificationEvent('notificationclick', { notification }))
      })
    const app = App.of(page)
    const card = page.locator(`[data-request-id="${waiting.request_id}"]`)
    await clickNotification()
    await expect(card).toBeFocused()
    await expect(page).toHaveURL(`${server.url}/sessions/${id}`)
    // The app replies; without a reply the worker would load the page again.
    type Tab = { url: string; postMessage(message: object, ports: MessagePort[]): void }
    const replied = await worker.evaluate(async (path) => {
      const { clients } = globalThis as unknown as { clients: { matchAll(): Promise<Tab[]> } }
      const [tab] = await clients.matchAll()
      const { port1, port2 } = new MessageChannel()
      return new Promise<boolean>((done) => {
        port1.onmessage = () => done(true)
        tab.postMessage({ type: 'open', path }, [port2])
      })
    }, `/sessions/${id}`)
    expect(replied).toBe(true)
    // A page without the app is replaced.
    await deliver(shown)
    await expect.poll(tags).toEqual([waiting.request_id])
    const plain = `${server.url}/sessions/${id}/plain`
    await page.goto(plain)
    // The browser lists a page for some time after it was left.
    const tabs = () =>
      worker.evaluate(async () => {
        const { clients } = globalThis as unknown as { clients: { matchAll(): Promise<Tab[]> } }
        return (await clients.matchAll()).map((tab) => tab.url)
      })
    await expect.poll(tabs).toEqual([plain])
    await clickNotification()
    await expect(card).toBeFocused()
    await expect(page).toHaveURL(`${server.url}/sessions/${id}`)
    await app.approve(card)
    await expect.poll(() => bodies.length, { timeout: 60_000 }).toBe(3)
    const over = opened(bodies[2], own, auth)
    expect(over).toMatchObject({ kind: 'close', tag: waiting.request_id })
    await deliver(over)
    await expect.poll(tags).toEqual([])
    await expect(page).toHaveTitle('api-server · sayso')

    // With no page open, the number on the icon is what is shown.
    type Badged = { badges: number[] }
    await worker.evaluate(() => {
      const badges: number[] = ((globalThis as unknown as Badged).badges = [])
      navigator.setAppBadge = async (n = 0) => void badges.push(n)
    })
    await page.goto('about:blank')
    // The browser lists a page for some time after it was left.
    const pages = () =>
      worker.evaluate(async () => {
        const { clients } = globalThis as unknown as { clients: { matchAll(): Promise<unknown[]> } }
        return (await clients.matchAll()).length
      })
    await expect.poll(pages).toBe(0)
    await deliver(shown)
    const badges = () => worker.evaluate(() => (globalThis as unknown as Badged).badges)
    await expect.poll(badges).toEqual([1])
    await deliver(over)
    await expect.poll(badges).toEqual([1, 0])
  } finally {
    await page.close()
    await server.stop()
    push.close()
  }
})

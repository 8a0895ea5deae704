import { createDecipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { bash, prompt, text, tool } from '../script.ts'
import { startServer } from '../server.ts'
import { Stage } from '../stage.ts'
import { REST } from '../wire.ts'

test('language and appearance are kept, and no other language is ever seen @newest', async ({ page, server }) => {
  await page.goto(`${server.url}/settings`)
  await expect(page.getByRole('heading', { level: 1, name: 'Settings' })).toBeVisible()
  await page.getByLabel('Language').selectOption('Deutsch')
  await expect(page.getByRole('heading', { level: 1, name: 'Einstellungen' })).toBeVisible()
  await page.getByLabel('Erscheinungsbild').selectOption('Dunkel')
  await page.getByLabel('Dichte').selectOption('Kompakt')
  await page.getByLabel('Schriftgröße').selectOption('130 %')
  await page.getByRole('group', { name: 'Abgeschlossene Runden' }).first().getByLabel('Webhook').check()
  await page.getByRole('button', { name: 'Speichern' }).first().click()
  await expect(page.getByText('Gespeichert.')).toBeVisible()

  await page.addInitScript(() => {
    addEventListener('DOMContentLoaded', () => {
      const look = () => {
        if (/\b(Settings|Appearance|New session)\b/.test(document.body.textContent ?? ''))
          document.documentElement.dataset['english'] = 'seen'
      }
      new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true })
    })
  })
  await page.reload()
  await expect(page.getByRole('heading', { level: 1, name: 'Einstellungen' })).toBeVisible()
  await expect(page.getByRole('group', { name: 'Abgeschlossene Runden' }).first().getByLabel('Webhook')).toBeChecked()
  const html = page.locator('html')
  await expect(html).toHaveAttribute('lang', 'de')
  await expect(html).toHaveAttribute('data-theme', 'dark')
  await expect(html).toHaveAttribute('data-density', 'compact')
  await expect(html).not.toHaveAttribute('data-english')
  // Larger text makes nothing stick out of the window.
  for (const width of [1280, 320]) {
    await page.setViewportSize({ width, height: 800 })
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
  }
  const app = await page
    .getByRole('heading', { level: 1 })
    .evaluate((h) => getComputedStyle(h).getPropertyValue('--zoom'))
  expect(app).toBe('1.3')
})

/** What a browser makes of a push message (RFC 8291). */
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

test('a request that nobody looks at is pushed, shown, opened and taken back @newest', async ({
  claudePath,
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
  const server = await startServer({ claudePath, modelURL: model.url, arguments: ['--alert-private', 'true'] })
  try {
    const rest = new REST(request, server)
    await signIn(context, server)
    await context.grantPermissions(['notifications'], { origin: server.url })
    // A browser without a push service: what it would be given is given here.
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

    // Nobody looks any more.
    await page.goto('about:blank')
    const id = await rest.start(prompt('Ask', [bash('touch pushed')], [text('Done.')]), {
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
    await deliver(shown)
    await expect.poll(tags).toEqual([waiting.request_id])
    // What a server sent again that died before it noted the first takes its place, unheard.
    const said = () =>
      page.evaluate(async () =>
        (await (await navigator.serviceWorker.ready).getNotifications()).map((n) => [
          n.body,
          'renotify' in n && n.renotify,
        ]),
      )
    await deliver({ ...shown, body: 'once more' })
    await expect.poll(said).toEqual([['once more', false]])

    // A click, as the browser tells the worker of it, leads to the card.
    const [worker] = context.serviceWorkers()
    await worker.evaluate(async () => {
      const scope = globalThis as unknown as EventTarget & {
        registration: ServiceWorkerRegistration
        NotificationEvent: new (type: string, init: object) => Event
      }
      const [notification] = await scope.registration.getNotifications()
      scope.dispatchEvent(new scope.NotificationEvent('notificationclick', { notification }))
    })
    const app = App.of(page)
    const card = page.locator(`[data-request-id="${waiting.request_id}"]`)
    await expect(card).toBeFocused()
    await expect(page).toHaveURL(`${server.url}/sessions/${id}`)
    await app.approve(card)
    await expect.poll(() => bodies.length, { timeout: 60_000 }).toBe(3)
    const over = opened(bodies[2], own, auth)
    expect(over).toMatchObject({ kind: 'close', tag: waiting.request_id })
    await deliver(over)
    await expect.poll(tags).toEqual([])
    await expect(page).toHaveTitle('api-server · sayso')
  } finally {
    await page.close()
    await server.stop()
    push.close()
  }
})

test('who has sayso open elsewhere is told in a toast, in every tab, until somebody looks @newest', async ({
  page,
  context,
  folder,
  rest,
}) => {
  const other = await context.newPage()
  const toast = (tab: typeof page, command: string) =>
    tab.getByRole('region', { name: 'Other sessions' }).getByRole('listitem').filter({ hasText: command })
  for (const [tab, path] of [
    [page, '/settings'],
    [other, '/admin'],
  ] as const) {
    await tab.goto(path)
    await expect(tab.getByRole('heading', { level: 1 }).first()).toBeVisible()
    await expect(tab.getByRole('link', { name: /^Inbox/ })).toBeVisible()
  }
  const id = await rest.start(prompt('Ask', [bash('touch here')], [bash('touch there')], [text('Done.')]), {
    cwd: folder,
    title: 'toasted',
  })
  await expect(toast(page, 'touch here')).toContainText('toasted')
  await expect(toast(other, 'touch here')).toBeVisible()
  expect(await page.evaluate(() => document.activeElement === document.body)).toBe(true)

  // It was answered by somebody.
  const [first] = (await rest.state(id)).pending_requests
  await rest.post(`/api/pending/${first.request_id}/response`, {
    session_id: id,
    request_id: first.request_id,
    request_type: 'tool_approval',
    decision: 'allow',
  })
  await expect(toast(page, 'touch there')).toBeVisible()
  await expect(toast(other, 'touch there')).toBeVisible()
  await expect(toast(page, 'touch here')).toHaveCount(0)
  await expect(toast(other, 'touch here')).toHaveCount(0)

  // Whoever opens it has it before them, and no toast tells of it any more.
  await toast(page, 'touch there')
    .getByRole('link', { name: /^Open in toasted/ })
    .press('Enter')
  const card = App.of(page).card('touch there')
  await expect(card).toBeFocused()
  await expect(toast(other, 'touch there')).toHaveCount(0)
  await App.of(page).approve(card)
  await expect(App.of(page).card()).toHaveCount(0)
  await other.close()
})

test('what Claude does is said as much as one chose', { tag: '@newest' }, async ({ page, server }) => {
  const stage = await Stage.in(page)
  await page.goto('/settings')
  const much = page.getByRole('combobox', { name: 'Screen reader announcements' })
  await expect(much).toHaveAccessibleDescription('New requests are always announced.')
  await much.selectOption({ label: 'Every block in the open session' })
  // What reads it is fetched beside the page; what is said before is not read.
  const reader = page.waitForResponse(/\/aloud-/)
  await stage.open(server.url)
  await reader
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  await expect(async () => {
    stage.say({ kind: 'text', text: '**I** look at `main.go`.' })
    await expect(page.getByRole('log').filter({ hasText: 'I look at main.go.' })).toBeAttached({ timeout: 5_000 })
  }).toPass()
})

test(
  'keys of one’s own follow to the next device',
  { tag: '@newest' },
  async ({ page, browser, folder, rest, server, signIn }) => {
    const file = join(folder, 'kept.txt')
    writeFileSync(file, 'one\ntwo\nthree\n')
    const id = await rest.start(
      prompt(
        'Edit.',
        [tool('Read', { file_path: file })],
        [tool('Edit', { file_path: file, old_string: 'two', new_string: 'zwei' })],
        [text('Edited.')],
      ),
      { cwd: folder },
    )
    await page.goto('/settings')
    const section = page.getByRole('region', { name: 'Keyboard shortcuts' })
    await section.getByText('Customize shortcuts').click()
    const approve = section.getByRole('listitem').filter({ hasText: /^\s*Approve once/ })
    const change = section.getByRole('button', { name: 'Change shortcut: Approve once' })
    await change.click()
    await page.keyboard.press('n')
    await expect(approve.getByText('Also used for: Deny, with a reason')).toBeVisible()
    await change.click()
    const kept = page.waitForResponse((r) => r.url().endsWith('/api/preferences') && r.request().method() === 'PATCH')
    await page.keyboard.press('q')
    expect((await kept).ok()).toBe(true)
    await expect(approve.getByText('Also used for')).toHaveCount(0)

    const elsewhere = await browser.newContext()
    await signIn(elsewhere)
    const other = await App.openSession(await elsewhere.newPage(), id, server.url)
    const button = other.approveButton(other.card())
    await expect(button).toHaveAttribute('aria-keyshortcuts', 'q')
    await expect(other.card().locator('ins')).toBeVisible()
    const card = other.card()
    await card.focus()
    await other.page.keyboard.press('d')
    const places = () => Promise.all(['del', 'ins'].map((tag) => card.locator(tag).boundingBox()))
    await expect
      .poll(async () => {
        const [del, ins] = await places()
        return del!.y === ins!.y && del!.x < ins!.x
      })
      .toBe(true)
    await other.page.keyboard.press('y')
    await expect(card).toBeVisible()
    // What is pressed in the first moment of a card decides nothing.
    await expect(async () => {
      if ((await card.count()) > 0) await other.page.keyboard.press('q')
      await expect(other.said('Edited.')).toBeVisible({ timeout: 2_000 })
    }).toPass()
    await elsewhere.close()

    await section.getByRole('button', { name: 'Reset all shortcuts' }).click()
    await expect(approve.getByText('y', { exact: true })).toBeVisible()
  },
)

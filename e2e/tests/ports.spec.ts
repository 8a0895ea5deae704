// Cookies do not know ports: what Claude serves on this machine gets those of sayso.
import { once } from 'node:events'
import { createServer, request as ask } from 'node:http'
import type { AddressInfo } from 'node:net'

import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { bash, prompt, text } from '../script.ts'

test('a server on another port gets the cookie and can do nothing with it', async ({
  page,
  context,
  server,
  folder,
  rest,
}) => {
  for (const description of ['favicon.ico', 'ERR_BLOCKED_BY_RESPONSE'])
    test.info().annotations.push({ type: 'allowed on the console', description })
  const id = await rest.start(prompt('Make it', [bash('touch made')], [text('It is made.')]), { cwd: folder })
  const app = await App.openSession(page, id)
  await expect(app.card('touch made')).toBeVisible()
  const [request] = (await rest.state(id)).pending_requests

  const taken: string[] = []
  const preview = createServer((asked, answer) => {
    taken.push(asked.headers.cookie ?? '')
    answer.setHeader('Content-Type', 'text/html')
    answer.end('<title>preview</title>')
  }).listen(0, '127.0.0.1')
  await once(preview, 'listening')
  const elsewhere = `http://127.0.0.1:${(preview.address() as AddressInfo).port}/`
  const there = await context.newPage()
  await there.goto(elsewhere)
  const cookie = taken.find((c) => /(^|; )sayso=\w{64}/.test(c))
  expect(cookie, 'the browser sends the cookie to the other port').toBeTruthy()
  expect(
    await there.evaluate(() => localStorage.getItem('sayso:page-key')),
    'and the page there cannot read the key',
  ).toBeNull()

  // It forges whatever a browser says about itself.
  const { host, origin } = new URL(server.url)
  const forged = {
    Cookie: cookie!,
    Origin: origin,
    Host: host,
    'Sec-Fetch-Site': 'same-origin',
    'User-Agent': await page.evaluate(() => navigator.userAgent),
  }
  const send = (path: string, headers: Record<string, string>, body = '') =>
    new Promise<number>((resolve, reject) => {
      const call = ask(server.url + path, { method: body ? 'POST' : 'GET', headers: { ...forged, ...headers } })
      call.on('response', (answer) => (answer.resume(), resolve(answer.statusCode!)))
      call.on('upgrade', (answer, socket) => (socket.destroy(), resolve(answer.statusCode!)))
      call.on('error', reject)
      call.end(body)
    })
  const approval = JSON.stringify({
    session_id: id,
    request_type: request.request_type,
    decision: 'allow',
    input_hash: request.input_hash,
  })
  const upgrade = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  }
  expect(
    await send(`/api/pending/${request.request_id}/response`, { 'Content-Type': 'application/json' }, approval),
  ).toBe(401)
  expect(await send('/api/me', {})).toBe(401)
  expect(await send('/ws', upgrade)).toBe(401)
  expect(await send('/ws', { ...upgrade, 'Sec-WebSocket-Protocol': 'sayso' })).toBe(401)
  expect((await rest.state(id)).pending_requests).toHaveLength(1)

  // Its page is no better off.
  const byPage = await there.evaluate(
    ([url, path, body]) =>
      fetch(url + path, { method: 'POST', credentials: 'include', mode: 'no-cors', body }).then(
        (r) => r.type,
        () => 'failed',
      ),
    [server.url, `/api/pending/${request.request_id}/response`, approval] as const,
  )
  expect(['opaque', 'failed']).toContain(byPage)
  expect((await rest.state(id)).pending_requests).toHaveLength(1)

  // With its key the page of sayso approves, also after a reload and beside another tab.
  const key = await page.evaluate(() => localStorage.getItem('sayso:page-key'))
  expect(await send('/api/me', { 'X-Sayso-Page-Key': key! })).toBe(200)
  expect(await send('/ws', { ...upgrade, 'Sec-WebSocket-Protocol': `sayso, sayso.page-key.${key}` })).toBe(101)
  await page.reload()
  await app.approve(app.card('touch made'))
  await expect(app.said('It is made.')).toBeVisible()
  preview.close()
})

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { expect, test } from '../fixtures.ts'
import { play, text } from '../script.ts'

// What the share sheet of a phone does, any page can do, too.
test('what another site shares with its files becomes a draft, and nothing is sent @newest @nightly', async ({
  page,
  rest,
  scripted,
  server,
}) => {
  const other = createServer((_, res) =>
    res
      .writeHead(200, { 'Content-Type': 'text/html' })
      .end(
        '<form method=post enctype=multipart/form-data><input name=text><input type=file name=files multiple></form>',
      ),
  ).listen(0, 'localhost')
  await once(other, 'listening')
  const id = await rest.start(play('Say.', [text('Said.')]), { cwd: scripted, title: 'Takes what is shared' })
  await expect.poll(async () => (await rest.state(id)).state).toBe('user_turn')
  // An installed app has the worker that receives.
  await page.addInitScript(() => {
    const real = window.matchMedia.bind(window)
    window.matchMedia = (query) =>
      query === '(display-mode: standalone)' ? ({ matches: true } as MediaQueryList) : real(query)
  })
  await page.goto(server.url)
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined))
  await expect.poll(() => page.evaluate(() => navigator.serviceWorker.controller !== null)).toBe(true)

  await page.goto(`http://localhost:${(other.address() as AddressInfo).port}/`)
  await page.locator('[name=text]').fill('Look at this')
  await page.locator('[name=files]').setInputFiles([
    { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Some notes.') },
    { name: 'more.txt', mimeType: 'text/plain', buffer: Buffer.from('More of them.') },
  ])
  await page.evaluate((to) => {
    const form = document.querySelector('form')!
    form.action = to
    form.submit()
  }, `${server.url}/share`)
  await expect(page).toHaveURL(`${server.url}/share`)
  await expect(page.getByText('Look at this')).toBeVisible()
  for (const name of ['notes.txt', 'more.txt']) await expect(page.getByText(name, { exact: true })).toBeVisible()
  await page
    .getByRole('main')
    .getByRole('button', { name: /Takes what is shared/ })
    .click()
  await expect(page.getByRole('textbox', { name: 'Message to Claude' })).toHaveValue('Look at this')
  for (const name of ['notes.txt', 'more.txt'])
    await expect(page.getByRole('button', { name: `Remove ${name}` })).toBeVisible()
  expect((await rest.transcript(id)).filter((i) => i.kind === 'user')).toHaveLength(1)
  other.close()
})

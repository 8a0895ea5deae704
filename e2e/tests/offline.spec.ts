import { expectAccessible } from '../a11y.ts'
import { App } from '../app.ts'
import { awayMessages, expect, signInContext, test } from '../fixtures.ts'
import { cuttable } from '../proxy.ts'
import { bash, play, text } from '../script.ts'

test('the installed app without its server shows the last known state, and decides nothing @newest @browsers', async ({
  page,
  context,
  rest,
  scripted,
  server: behind,
}) => {
  // What an emulation cuts off is not the service worker, or later: this cuts off all.
  const cable = await cuttable(behind.url)
  const server = { ...behind, url: cable.url }
  test.info().annotations.push(
    ...[...awayMessages, 'ERR_FAILED', 'Failed to load resource'].map((description) => ({
      type: 'allowed on the console',
      description,
    })),
  )
  // A sign-in of its own, which the test ends; the others go on.
  test.info().annotations.push({ type: 'parts differ' })
  await context.clearCookies()
  await signInContext(context, server)
  // As an installed app, whose icon has a number.
  await page.addInitScript(() => {
    const real = window.matchMedia.bind(window)
    window.matchMedia = (query) =>
      query === '(display-mode: standalone)' ? ({ matches: true } as MediaQueryList) : real(query)
    const badge = window as unknown as { badge: number }
    navigator.setAppBadge = async (n = 0) => void (badge.badge = n)
    navigator.clearAppBadge = async () => void (badge.badge = 0)
  })
  const id = await rest.start(play('Ask offline', [bash('touch offline')], [text('Done.')]), {
    cwd: scripted,
    title: 'kept offline',
  })
  const app = await App.openSession(page, id, server.url)
  await expect(app.card()).toBeVisible()
  await expect.poll(() => page.evaluate(() => (window as unknown as { badge: number }).badge)).toBeGreaterThan(0)
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined))
  await expect.poll(() => page.evaluate(() => navigator.serviceWorker.controller !== null)).toBe(true)

  // Another app shares a text: it becomes a draft where one chooses, and nothing is sent.
  await page.evaluate(() => {
    const form = document.createElement('form')
    Object.assign(form, { method: 'POST', action: '/share', enctype: 'multipart/form-data' })
    const field = document.createElement('input')
    Object.assign(field, { name: 'text', value: 'Look at https://example.org/1' })
    form.append(field)
    document.body.append(form)
    form.submit()
  })
  await expect(page).toHaveURL(/\/share$/)
  await expect(page.getByText('Look at https://example.org/1')).toBeVisible()
  await expectAccessible(page, 'what was shared', '.share')
  await page.getByRole('button', { name: 'New session', exact: true }).last().click()
  await expect(page.getByRole('textbox', { name: /What should Claude do/ })).toHaveValue(
    'Look at https://example.org/1',
  )
  await page.keyboard.press('Escape')

  const leave = () =>
    page.evaluate(async () => {
      Object.defineProperty(document, 'hidden', { value: true, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
      Object.defineProperty(document, 'hidden', { value: false, configurable: true })
    })
  await app.show(id)
  await expect(app.card()).toBeVisible()
  await leave()
  const last = () => page.evaluate(async () => (await caches.match('/last', { cacheName: 'sayso-last' }))?.text() ?? '')
  await expect.poll(last).toContain('kept offline')
  const openOffline = async (path: string) => {
    cable.cut()
    await page.goto(server.url + path)
    await expect(page.getByRole('heading', { name: 'No connection to the server' })).toBeVisible()
  }
  await openOffline(`/sessions/${id}`)
  await expect(page.getByText('kept offline')).toBeVisible()
  await expect(page.getByText('1 request needed your attention').first()).toBeVisible()
  expect(await page.getByRole('button').allInnerTexts()).toEqual(['Try again'])
  // Nothing of the app is kept, and of the request neither its command nor its id.
  const kept = await page.evaluate(async () => {
    const names = (await caches.keys()).filter((n) => n !== 'sayso-page-key')
    const all = await Promise.all(
      names.map(async (name) => {
        const cache = await caches.open(name)
        return Promise.all((await cache.keys()).map(async (r) => `${r.url} ${await (await cache.match(r))!.text()}`))
      }),
    )
    return all.flat().join('\n')
  })
  expect(kept).not.toContain('/assets/')
  expect(kept).not.toContain('touch offline')

  await cable.mend()
  await page.evaluate(() => dispatchEvent(new Event('online')))
  await expect(app.card()).toBeVisible()
  await app.approve(app.card())
  await app.signOut()
  await App.expectSignedOut(page)
  await expect.poll(() => page.evaluate(() => caches.has('sayso-last'))).toBe(false)
  await openOffline('/')
  await expect(page.getByText('kept offline')).toHaveCount(0)
  await cable.close()
})

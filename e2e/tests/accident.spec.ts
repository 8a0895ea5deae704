import { devices } from '@playwright/test'

import { command as risk, tool } from '../../frontend/src/testcards.ts'
import type { Request } from '../../frontend/src/wire/messages.gen.ts'
import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { Stage } from '../stage.ts'

// Nothing is approved by accident: on a phone, at the default settings, on made frames.
const { viewport, userAgent, deviceScaleFactor, isMobile, hasTouch } = devices['Pixel 7']
test.use({ viewport, userAgent, deviceScaleFactor, isMobile, hasTouch, undo: 'usual', goesOn: false })

const OTHER = '0198c0de-0000-7000-8000-0000000000b1'
const call = (id: string, command: string, level: Request['risk']): Request => ({
  ...tool('Bash', { command }),
  request_id: id,
  input_hash: `sha256:${id}`,
  created_at: Date.now() / 1000 - 5,
  ...(level ? { risk: level } : {}),
})

const given = (stage: Stage) => stage.commands.filter((c) => c.type === 'pending_request_response')

test('a second tap where a card was approved decides nothing, and the next card needs a deliberate step @newest', async ({
  page,
  server,
}) => {
  const stage = await Stage.in(page)
  stage.show([call('a', 'touch first', 'medium')])
  stage.previews.set('a', risk('medium')).set('b', risk('medium'))
  await page.clock.install()
  await page.goto(`${server.url}/inbox/a`)
  stage.showIn(OTHER, 'other', [call('b', 'touch second', 'medium')])
  const app = App.of(page)
  const approve = app.approveButton(app.card('touch first'))
  await expect(approve).not.toHaveAttribute('aria-disabled')
  const box = (await approve.boundingBox())!
  const spot = [box.x + box.width / 2, box.y + box.height / 2] as const
  await page.touchscreen.tap(...spot)
  await expect.poll(() => given(stage).length).toBe(1)
  // By touch it can be undone.
  expect(given(stage)[0]).toMatchObject({ request_id: 'a', undo_ms: 3_000 })
  stage.show([])
  await expect(page.getByRole('group', { name: /^Approved/ })).toBeVisible()
  await page.screenshot({ path: test.info().outputPath('outcome.png') })
  // Taps that follow one another within a second are none of a person who reads; on a slow machine only
  // a clock that stands still brings them that fast.
  await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 200)
  for (let taps = 0; taps < 14; taps++) {
    await page.touchscreen.tap(...spot)
    await page.clock.runFor(300)
  }
  await page.clock.resume()
  expect(given(stage)).toHaveLength(1)
  await expect(app.cards()).toHaveCount(0)

  const next = page.getByRole('navigation', { name: 'Next in your inbox' }).getByRole('link')
  const there = (await next.boundingBox())!
  expect(there.y + there.height).toBeLessThan(box.y)
  await next.tap()
  await expect(app.card('touch second')).toBeVisible()
  await app.approveButton(app.card('touch second')).tap()
  await expect
    .poll(() => given(stage).map((c) => c.type === 'pending_request_response' && c.request_id))
    .toEqual(['a', 'b'])
})

test('a request that arrives after a decision waits until the person asks for it @newest', async ({ page, server }) => {
  const stage = await Stage.in(page)
  stage.previews.set('a', risk('low')).set('b', risk('low'))
  stage.show([call('a', 'ls first', 'low')])
  await stage.open(server.url)
  const app = App.of(page)
  await app.review()
  await app.approveButton(app.card('ls first')).tap()
  await expect.poll(() => given(stage).length).toBe(1)
  stage.show([call('b', 'ls second', 'low')])
  await expect(page.getByRole('button', { name: 'Next request' })).toBeVisible()
  await expect(app.cards()).toHaveCount(0)
  await page.screenshot({ path: test.info().outputPath('session.png') })
  await page.getByRole('button', { name: 'Next request' }).tap()
  await expect(app.card('ls second')).toBeVisible()
})

test('a dangerous request is confirmed by holding one button or typing the dangerous word @newest', async ({
  page,
  server,
}) => {
  const stage = await Stage.in(page)
  const text = 'cd build && git push --force origin main'
  stage.previews.set(
    'a',
    risk('high', [
      {
        from: text.indexOf('git'),
        to: text.length,
        kind: 'git_force',
        level: 'high',
        reason: 'replaces history on the other side',
      },
    ]),
  )
  stage.show([call('a', text, 'high')])
  await stage.open(server.url)
  const app = App.of(page)
  await app.review()
  const card = app.card('git push')
  const spot = (await app.approveButton(card).boundingBox())!
  await app.approveButton(card).tap()
  const hold = card.getByRole('button', { name: 'Hold to approve' })
  await expect(hold).toBeVisible()
  await expect(app.approveButton(card)).toHaveCount(0)
  await page.screenshot({ path: test.info().outputPath('confirm.png') })
  // Where Approve was there is nothing that approves, and a tap is not enough.
  for (let i = 0; i < 3; i++) await page.touchscreen.tap(spot.x + spot.width / 2, spot.y + spot.height / 2)
  await expect(hold).not.toHaveAttribute('aria-disabled')
  await hold.tap()
  expect(given(stage)).toEqual([])
  await card.getByRole('textbox', { name: /^Type “push --force”/ }).fill('cd')
  await expect(card.getByRole('button', { name: 'Approve', exact: true })).toHaveCount(0)
  await card.getByRole('textbox', { name: /^Type “push --force”/ }).fill('push --force')
  await card.getByRole('button', { name: 'Approve', exact: true }).tap()
  await expect.poll(() => given(stage)).toMatchObject([{ request_id: 'a', decision: 'allow', undo_ms: 3_000 }])
})

test('an offline decision of one person is not sent for the next @newest', async ({ page, server }) => {
  const stage = await Stage.in(page)
  stage.previews.set('a', risk('low'))
  stage.show([call('a', 'ls first', 'low')])
  await stage.open(server.url)
  const app = App.of(page)
  await app.review()
  await expect(app.card('ls first')).toBeVisible()
  stage.up = false
  await stage.hangUp()
  await app.approveButton(app.card('ls first')).tap()
  await expect(app.card('ls first').getByText('Your answer is sent when you reconnect.')).toBeVisible()
  const ada = stage.hello
  stage.hello = { ...ada, user: { name: 'grace', role: 'member' }, user_id: '0198c0de-0000-7000-8000-0000000000c3' }
  stage.up = true
  await expect(page.getByText('grace')).toBeAttached({ timeout: 40_000 })
  await expect(app.card('ls first')).toBeAttached()
  expect(given(stage)).toEqual([])
  stage.hello = ada
  await stage.hangUp()
  await expect.poll(() => given(stage), { timeout: 40_000 }).toMatchObject([{ request_id: 'a', user_id: stage.userID }])
})

// How far it is to what a person wants to do, in presses and keys; and how far the thumb has to go
// for it. The way from the demo to the first decision is measured in firstrun.spec.ts. On made frames.
import type { Locator, Page } from '@playwright/test'

import { command as risk, FORMS, KINDS, request as asked, tool } from '../../frontend/src/testcards.ts'
import { PHONE } from '../a11y.ts'
import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { Stage } from '../stage.ts'

// The upper part of a phone is what the thumb of the hand that holds it does not reach.
const THUMB = 0.4

const now = () => Date.now() / 1000
const runs = (id: string, created_at: number) => ({
  ...tool('Bash', { command: `ls ${id}` }, { risk: 'low' }),
  request_id: id,
  input_hash: `sha256:${id}`,
  created_at,
})

/** Counts presses and keys in a page. */
async function counted(page: Page): Promise<() => number> {
  let actions = 0
  await page.exposeBinding('countAction', () => void actions++)
  await page.addInitScript(() => {
    const count = (ev: Event) => ev.isTrusted && (window as unknown as { countAction(): void }).countAction()
    for (const type of ['pointerdown', 'keydown']) addEventListener(type, count, true)
  })
  return () => actions
}

for (const [device, size] of [
  ['a desk', { width: 1440, height: 900 }],
  ['a phone', PHONE],
] as const)
  test(`from the link of a notification one press decides, on ${device} @newest @nightly`, async ({ page, server }) => {
    const actions = await counted(page)
    const stage = await Stage.in(page)
    stage.previews.set('a', risk('low'))
    stage.show([runs('a', now())])
    await page.setViewportSize(size)
    await page.goto(`${server.url}/sessions/${stage.id}?request=a`)
    const app = App.of(page)
    await app.approve(app.card())
    await expect.poll(() => stage.commands.find((c) => c.type === 'pending_request_response')).toBeTruthy()
    expect(actions()).toBe(1)
  })

test('one shortcut leads from anywhere to the oldest request @newest @nightly', async ({ page, server }) => {
  const stage = await Stage.in(page)
  for (const id of ['old', 'new']) stage.previews.set(id, risk('low'))
  stage.show([])
  stage.showIn('s2', 'later', [runs('new', now() - 10)])
  stage.showIn('s3', 'earlier', [runs('old', now() - 60)])
  const card = page.locator('[data-request-id=old]')
  for (const address of ['/', '/inbox', `/sessions/${stage.id}`, '/settings', '/account', '/admin/people']) {
    await test.step(address, async () => {
      await page.goto(server.url + address)
      await App.of(page).hearsKeys()
      await page.keyboard.press('Alt+.')
      await expect(card).toBeFocused()
    })
  }
  // Also while one writes.
  await page.goto(`${server.url}/sessions/${stage.id}`)
  await App.of(page).hearsKeys()
  await App.of(page).composer().fill('half a sent')
  await page.keyboard.press('Alt+.')
  await expect(card).toBeFocused()
})

test('on a phone whatever decides or sends is where the thumb is @newest @nightly', async ({
  page,
  server: { url },
}) => {
  const stage = await Stage.in(page)
  await page.setViewportSize(PHONE)
  const low = async (what: Locator) => {
    await expect(what).toBeInViewport({ ratio: 1 })
    await expect
      .poll(async () => (await what.boundingBox())!.y / PHONE.height, { message: `${what}` })
      .toBeGreaterThanOrEqual(THUMB)
  }
  const card = page.locator('[data-request-id]')
  for (const [kind, [request, preview], buttons] of [
    ['command', KINDS['a command']!, [/^Approve$/, /^Deny$/]],
    ['high', KINDS['a command of high risk']!, [/^Approve…$/, /^Deny$/]],
    ['edit', KINDS['an edit']!, [/^Approve$/, /^Deny$/]],
    ['plan', KINDS['a plan']!, [/^Approve and ask/, /^Keep planning$/]],
    ['question', [FORMS['a question with one answer']!, null] as const, [/^Send answers|^Answer \d/, /^Decline$/]],
  ] as const) {
    await test.step(kind, async () => {
      if (preview) stage.previews.set(kind, preview)
      stage.show([{ ...request, request_id: kind, input_hash: kind, created_at: now() }])
      await page.goto(`${url}/inbox/${kind}`)
      for (const name of buttons) await low(card.getByRole('button', { name }))
    })
  }
  // What comes after a decision, and how a reason is sent.
  stage.previews.set('a', risk('low')).set('b', risk('low'))
  stage.show([runs('a', now() - 9), runs('b', now())])
  await page.goto(`${url}/inbox/a`)
  const app = App.of(page)
  await app.prepareDeny(card, 'No.')
  await low(card.getByRole('button', { name: 'Deny', exact: true }))
  await app.confirmDeny(card)
  await expect.poll(() => stage.commands.some((c) => c.type === 'pending_request_response')).toBe(true)
  stage.show([runs('b', now())])

  // A group, and several of several sessions.
  stage.show(
    ['x', 'y', 'z'].map((id) =>
      asked(id, { risk: 'low', tool_name: 'Read', tool_input: { file_path: `/w/${id}` }, created_at: now() }),
    ),
  )
  await page.goto(`${url}/inbox/x`)
  for (const name of ['Approve 3', 'Deny 3']) await low(card.getByRole('button', { name }))

  // Messages, and a new session.
  stage.show([])
  await stage.open(url)
  await app.composer().fill('Go on.')
  await low(page.getByRole('button', { name: /^(Send|Queue)/ }))
  await page.goto(url)
  await page
    .getByRole('button', { name: 'New session' })
    .or(page.getByRole('link', { name: 'New session' }))
    .first()
    .click()
  await low(page.getByRole('dialog').getByRole('button', { name: 'Start session' }))
})

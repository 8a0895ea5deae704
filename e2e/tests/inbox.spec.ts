import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { devices } from '@playwright/test'

import { expectAccessible } from '../a11y.ts'
import { App } from '../app.ts'
import { asPage, expect, signInContext, test as shared } from '../fixtures.ts'
import { everything, program } from '../machine.ts'
import { decode } from '../qr.ts'
import { ask, bash, play, question, text, tool, write } from '../script.ts'
import { type Server, startServer } from '../server.ts'
import { REST } from '../wire.ts'

// The inbox shows what waits in all sessions of a server, so each test has one. The CLI is the scripted one: what
// is looked at is the app.
const test = shared.extend<{ own: Server }>({
  own: async ({ model }, use) => {
    const server = await startServer({ claudePath: program('claudetest'), modelURL: model.url })
    await use(server)
    await server.stop()
  },
  rest: async ({ own, request }, use) => use(new REST(request, own)),
  folder: async ({ own }, use) => use(mkdtempSync(join(own.workspace, 'project-'))),
  page: async ({ page, context, signIn, own }, use) => {
    await signIn(context, own)
    await use(page)
    // Before the server that it belongs to.
    await page.close()
  },
})

test('keyboard only: from the inbox through five kinds of requests to a new session @newest @browsers', async ({
  page,
  folder,
  rest,
  own,
}) => {
  test.slow() // five requests, one after the other
  const start = (words: string, ...replies: Parameters<typeof play>[1][]) =>
    rest.start(play(words, ...replies), { cwd: folder, title: words })
  const ids: string[] = []
  const next = async (id: Promise<string>) => {
    ids.push(await id)
    await expect.poll(async () => (await rest.state(ids.at(-1)!)).pending_requests.length).toBe(1)
  }
  await next(start('Run it', [bash('touch ran')], [text('Ran.')]))
  await next(start('Write it', [write(join(folder, 'written'), 'words')], [text('Written.')]))
  await next(
    start(
      'Ask it',
      [ask(question('Which format?', 'Format', ['Summary', 'Table']))],
      [text('Heard: {{last_tool_result}}')],
    ),
  )
  await next(
    rest.start(play('Plan it', [tool('ExitPlanMode', { plan: '# The plan\n\nPaint it green' })], [text('Off I go.')]), {
      cwd: folder,
      permission_mode: 'plan',
      title: 'Plan it',
    }),
  )
  await next(start('Refuse it', [bash('touch refused')], [text('Refused: {{last_tool_result}}')]))

  const app = await App.home(page, own.url)
  await expect(page.getByRole('link', { name: /^Inbox/ })).toContainText('5')
  await app.hearsKeys()
  await page.keyboard.press('g')
  await page.keyboard.press('i')
  await expect(page).toHaveURL(/\/inbox/)
  const region = page.getByRole('region', { name: 'Selected request' })
  await expect(region.locator('code').getByText('touch ran').first()).toBeVisible()
  await page.keyboard.press('Alt+.')

  // The card takes no key in its first moment; the button says when it does.
  const decide = async (words: string, key: string, buttonName: RegExp) => {
    const card = app.card(words)
    await expect(card).toBeFocused()
    await expect(card.getByRole('button', { name: buttonName }).first()).not.toHaveAttribute('aria-disabled')
    await page.keyboard.press(key)
  }
  await decide('touch ran', 'y', /^Approve$/)
  await decide('written', 'y', /^Approve$/)
  await decide('Which format?', '2', /^Decline$/)
  await page.keyboard.press('Control+Enter')
  await decide('Paint it green', 'y', /^Approve and ask/)
  await decide('touch refused', 'n', /^Deny$/)
  await page.keyboard.type('Use another name')
  await page.keyboard.press('Control+Enter')
  await expect(page.getByText('You’re all caught up').first()).toBeVisible()

  for (const [i, said] of ['Ran.', 'Written.', '"Which format?":"Table"', 'Off I go.', 'Use another name'].entries()) {
    await expect
      .poll(async () => JSON.stringify(await rest.transcript(ids[i]!)), { message: said })
      .toContain(said.replaceAll('"', '\\"'))
  }

  // The palette, a session in it, and from there a new one.
  await page.keyboard.press('Control+k')
  await expect(page.getByRole('dialog').getByRole('combobox')).toBeFocused()
  await page.keyboard.type('refuse it')
  await expect(page.getByRole('dialog').getByRole('option').first()).toHaveText(/Refuse it/)
  await page.keyboard.press('Enter')
  await expect(page.getByRole('heading', { level: 1, name: 'Refuse it' })).toBeVisible()
  await page.keyboard.press('?')
  await expect(page.getByRole('dialog', { name: 'Keyboard shortcuts' })).toBeVisible()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await page.keyboard.type('new sess')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('dialog').getByRole('textbox', { name: /What should Claude do/ })).toBeVisible()
})

test('several low-risk requests are approved at once, each on its own, and no others @newest', async ({
  page,
  folder,
  rest,
  own,
}) => {
  const outside = join(own.workspace, 'notes')
  writeFileSync(outside, 'what is noted')
  const ids: string[] = []
  for (const n of [1, 2, 3]) {
    // It only reads, and the CLI asks all the same.
    ids.push(
      await rest.start(play(`Make ${n}`, [bash(`cat <(echo made-${n})`)], [text('Heard: {{last_tool_result}}')]), {
        cwd: folder,
        title: `Make ${n}`,
      }),
    )
  }
  // What lies outside, and what is of high risk.
  await rest.start(play('Look', [tool('Read', { file_path: outside })], [text('Read.')]), {
    cwd: folder,
    title: 'Look',
  })
  await rest.start(play('Run', [bash('rm -rf notes')], [text('Done.')]), { cwd: folder, title: 'Run' })
  await page.goto(`${own.url}/inbox`)
  const rows = page.getByRole('region', { name: 'Pending requests' }).getByRole('listitem')
  await expect(rows).toHaveCount(5)
  await expect(rows.filter({ hasText: 'High risk' })).toContainText('rm -rf notes')
  await page.getByRole('button', { name: 'Filters' }).click()
  if (everything) await expectAccessible(page, 'the inbox with its filters', 'main')
  await page.getByRole('combobox', { name: 'Risk' }).selectOption('High')
  await expect(rows).toHaveCount(1)
  await page.getByRole('combobox', { name: 'Risk' }).selectOption('Any')
  await expect(rows).toHaveCount(5)
  await page.getByRole('button', { name: 'Select', exact: true }).click()
  await expect(page.getByRole('checkbox', { name: /^Select: / })).toHaveCount(5)
  await page.keyboard.press('Shift+A')
  await page.keyboard.press('Shift+Y')
  const card = page.getByRole('group', { name: /^Run 3 commands/ })
  await expect(card).toBeFocused()
  await expect(card.getByRole('listitem')).toHaveCount(3)
  for (const n of [1, 2, 3]) await expect(card.getByText(`cat <(echo made-${n})`)).toBeVisible()
  // One of them is answered elsewhere before the confirmation.
  await rest.post(`/api/pending/${(await rest.state(ids[1]!)).pending_requests[0]!.request_id}/response`, {
    request_type: 'tool_approval',
    decision: 'deny',
  })
  const both = page.locator('[data-request-id=selected]')
  const approve = both.getByRole('button', { name: 'Approve 2' })
  await expect(approve).not.toHaveAttribute('aria-disabled')
  await approve.click()
  await expect(both.getByText('Approved 2.')).toBeVisible()
  await expect(both.getByRole('listitem').filter({ hasText: 'made-2' })).toContainText(/denied|no longer open/)
  await both.getByRole('button', { name: 'Close' }).click()
  for (const i of [0, 2])
    await expect.poll(async () => JSON.stringify(await rest.transcript(ids[i]!))).toContain(`Heard: made-${i + 1}`)
  expect(JSON.stringify(await rest.transcript(ids[1]!))).not.toContain('Heard: made-2')
  await expect(rows.filter({ hasText: outside })).toHaveCount(1)

  // Who comes back after a while is told what happened in all of them, and led there.
  await page.addInitScript(() => localStorage.setItem('sayso:here', String(Date.now() - 600_000)))
  await page.goto(`${own.url}/inbox`)
  const summary = page.getByRole('region', { name: 'While you were away:' })
  await expect(summary).toContainText(/3 requests resolved.*2 pending approvals/)
  await summary.getByText('While you were away:').click()
  await expect(summary.getByRole('link')).toHaveCount(5) // also those in which something waits, and nothing else
  await summary.getByRole('link', { name: 'Make 1' }).click()
  await expect(page).toHaveURL(new RegExp(`/sessions/${ids[0]}`))
})

test.describe('on a phone', () => {
  const { viewport, userAgent, deviceScaleFactor, isMobile, hasTouch } = devices['Pixel 7']
  test.use({ viewport, userAgent, deviceScaleFactor, isMobile, hasTouch })

  test('a person decides a request from the list and continues with the next by touch @newest', async ({
    page,
    folder,
    rest,
    own,
  }) => {
    for (const name of ['first', 'second']) {
      const id = await rest.start(play(`Make ${name}`, [bash(`touch ${name}`)], [text('Made.')]), {
        cwd: folder,
        title: `Make ${name}`,
      })
      await expect.poll(async () => (await rest.state(id)).pending_requests.length).toBe(1)
    }
    const app = await App.home(page, own.url)
    await page.getByRole('navigation', { name: 'Main navigation' }).getByRole('link', { name: /Inbox/ }).tap()
    await page
      .getByRole('main')
      .getByRole('link', { name: /touch first/ })
      .tap()
    const approve = app.approveButton(app.card('touch first'))
    await expect(approve).toBeInViewport()
    const box = (await approve.boundingBox())!
    expect(box.height).toBeGreaterThanOrEqual(48)
    expect(box.y + box.height).toBeGreaterThan(viewport.height * 0.75)
    await approve.tap()
    await page.getByRole('navigation', { name: 'Next in your inbox' }).getByRole('link').tap()
    await app.approveButton(app.card('touch second')).tap()
    // Taps that follow one another are not meant for it.
    const caughtUp = page.getByText('You’re all caught up').first()
    await expect(async () => {
      if (await caughtUp.isVisible()) return
      await page.getByRole('button', { name: 'Done' }).tap({ timeout: 2_000 })
      await expect(caughtUp).toBeVisible({ timeout: 1_000 })
    }).toPass({ intervals: [1_200] })
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0)
  })
})

test('a draft follows its author from the desktop to the phone, and nobody else sees it @newest', async ({
  page,
  browser,
  folder,
  rest,
  own,
  signIn,
}) => {
  const id = await rest.start(play('Make it', [bash('touch made')], [text('Heard: {{last_tool_result}}')]), {
    cwd: folder,
    title: 'Make it',
  })
  const desk = await App.openSession(page, id, own.url)
  await desk.card().getByRole('button', { name: 'Deny', exact: true }).click()
  await desk.card().getByRole('textbox').fill('Use pnpm, not')

  const pocket = await browser.newContext()
  await signIn(pocket, own)
  const phone = await App.openSession(await pocket.newPage(), id, own.url)
  const reason = phone.card().getByRole('textbox')
  await expect(reason).toHaveValue('Use pnpm, not')
  // While it is written there, the desk follows.
  await reason.fill('Use pnpm, not npm')
  await expect(desk.card().getByRole('textbox')).toHaveValue('Use pnpm, not npm')
  await phone.confirmDeny(phone.card())
  await expect(desk.cards()).toHaveCount(0)
  await expect(desk.said(/Heard: .*Use pnpm, not npm/)).toBeVisible()

  await phone.composer().fill('And then')
  await expect(desk.composer()).toHaveValue('And then')
  const all = await page.request.get(`${own.url}/api/sessions/${id}`, { headers: await asPage(page) })
  expect(all.ok()).toBe(true)
  expect(await all.text()).not.toContain('And then')
  await pocket.close()
})

test('other people and who is answering are shown, until their tab closes @newest', async ({
  page,
  browser,
  folder,
  rest,
  own,
}) => {
  await rest.post('/api/users', { name: 'Grace', role: 'member', password: 'four words of hers' })
  const id = await rest.start(play('Make it', [bash('touch made')], [text('Made.')]), {
    cwd: folder,
    title: 'Make it',
  })
  const mine = await App.openSession(page, id, own.url)
  const other = await browser.newContext()
  await signInContext(other, own, { username: 'Grace', password: 'four words of hers' })
  const hers = await App.openSession(await other.newPage(), id, own.url)
  await expect(page.getByText('Grace is here')).toBeVisible()
  await hers.prepareDeny(hers.card(), 'Wait')
  // She is said to write for some seconds after each key.
  await expect(async () => {
    await hers.card().getByRole('textbox').pressSequentially('…')
    await expect(mine.card().getByText('Grace is answering')).toBeVisible({ timeout: 3_000 })
  }).toPass()
  await mine.approve(mine.card())
  await expect(mine.said('Made.')).toBeVisible()
  await other.close()
  await expect(page.getByText('Grace is here')).toBeHidden()
})

test('a request is snoozed and unsnoozed, denied with a saved reply, and opened on a phone by its code @newest', async ({
  page,
  browser,
  folder,
  rest,
  own,
  signIn,
}) => {
  await rest.post('/api/templates', { text: 'Use pnpm, not npm.', place: 'reason' })
  const ids: string[] = []
  for (const n of ['one', 'two']) {
    const id = await rest.start(play(`Make ${n}`, [bash(`touch ${n}`)], [text('Heard: {{last_tool_result}}')]), {
      cwd: folder,
      title: `Make ${n}`,
    })
    await expect.poll(async () => (await rest.state(id)).pending_requests.length).toBe(1)
    ids.push(id)
  }
  const request = (await rest.state(ids[0]!)).pending_requests[0]!.request_id
  await page.goto(`${own.url}/inbox/${request}`)
  const app = App.of(page)
  await expect(app.card('touch one')).toBeVisible()

  // Put off with the mouse, it goes to the end of the list, stays answerable, and comes back.
  const rows = page.locator('[data-inbox-row]')
  await expect(rows.first()).toContainText('touch one')
  await page.getByRole('button', { name: 'Snooze 10 min' }).click()
  await expect(rows.last()).toContainText(/touch one.*snoozed, 10 min left/s)
  await page.goto(`${own.url}/inbox/${request}`)
  await expect(rows.last()).toContainText('snoozed')
  await page.getByRole('button', { name: 'Unsnooze' }).click()
  await expect(rows.first()).toContainText('touch one')

  // The code leads another browser to exactly this card.
  const selected = page.getByRole('region', { name: 'Selected request' })
  await selected.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('button', { name: 'Open on phone' }).click()
  const code = page.getByRole('img', { name: 'QR code for the link below' })
  const [size, path] = await code.evaluate(
    (svg) =>
      [(svg as unknown as SVGSVGElement).viewBox.baseVal.width, svg.querySelector('path')!.getAttribute('d')!] as const,
  )
  const quiet = 4
  const dark = Array.from({ length: size - 2 * quiet }, () => Array<boolean>(size - 2 * quiet).fill(false))
  for (const [, x, y] of path.matchAll(/M(\d+) (\d+)/g)) dark[Number(y) - quiet]![Number(x) - quiet] = true
  const address = decode(dark)
  expect(address).toBe(`${own.url}/inbox/${request}`)
  const { viewport, userAgent, isMobile, hasTouch } = devices['Pixel 7']
  const pocket = await browser.newContext({ viewport, userAgent, isMobile, hasTouch })
  await signIn(pocket, own)
  const phone = App.of(await pocket.newPage())
  await phone.page.goto(address)
  await expect(phone.card()).toHaveAttribute('data-request-id', request)
  await page.getByRole('dialog').getByRole('button', { name: 'Back' }).click()

  // `t` on the card opens the reason with what was said before.
  await app.card('touch one').focus()
  await expect(app.approveButton(app.card())).not.toHaveAttribute('aria-disabled')
  await page.keyboard.press('t')
  await app.card().getByText('Use pnpm, not npm.').click()
  await expect(app.card().getByRole('textbox')).toHaveValue('Use pnpm, not npm.')
  await app.confirmDeny(app.card())
  await expect.poll(() => rest.said(ids[0]!)).toContain('Use pnpm, not npm.')
  await expect(phone.page.locator(`[data-request-id="${request}"]`)).toHaveCount(0)
  await pocket.close()
})

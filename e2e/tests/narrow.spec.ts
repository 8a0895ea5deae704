// Nothing that is read or pressed sticks out of what shows it. On made frames.
import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { Stage } from '../stage.ts'
import { request } from '../../frontend/src/testcards.ts'

test('long words are cut or wrapped, and never push buttons away @newest', async ({ page, server }) => {
  const stage = await Stage.in(page)
  stage.user = { name: 'hildegard', role: 'admin' }
  const waits = {
    message_id: 'm',
    text: 'And then run the linter, too, and mend all that it finds '.repeat(3),
    attachments: [],
    by: 'hildegard',
    created_at: 1,
  }
  await page.route('**/api/sessions/*/messages', (route) => route.fulfill({ json: { messages: [waits] } }))
  await page.addInitScript(() => localStorage.setItem('sayso:language', 'de'))
  await page.setViewportSize({ width: 1280, height: 800 })
  await stage.open(server.url)
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  stage.show([], {
    state: 'assistant_turn',
    queued_messages: 1,
    title: 'Datenbankmigrationsstrategie der Kundenstammdaten',
    model: 'opus',
  })

  // Who is signed in can be read, in the longer language too.
  const who = page.getByRole('link', { name: 'Konto: hildegard' })
  expect(await who.evaluate((el) => el.scrollWidth - el.clientWidth)).toBe(0)
  // A choice is as wide as what is chosen.
  expect((await page.getByRole('combobox', { name: 'Modell' }).boundingBox())!.width).toBeLessThan(100)

  for (const width of [390, 320]) {
    await page.setViewportSize({ width, height: 800 })
    await expect(page.getByRole('list', { name: 'Wartende Nachrichten' })).toBeVisible()
    for (const name of [/Einreihen/, 'Bearbeiten', /^Entfernen/])
      await expect(page.getByRole('button', { name })).toBeInViewport({ ratio: 1 })
  }

  // A dialog that is longer than the screen begins at its beginning.
  await page.getByRole('heading', { level: 1 }).focus()
  await page.keyboard.press('?')
  await expect(page.getByRole('dialog').getByRole('heading', { level: 2 })).toBeInViewport()
  await page.keyboard.press('Escape')

  // What waits leads to its card from the list; its second line says what it asks.
  stage.show([request('harm', { risk: 'high', tool_input: { command: 'rm -rf build' } })])
  await page.getByRole('link', { name: 'Zurück zu den Sitzungen' }).click()
  await page.getByRole('link', { name: /^Wartet auf dich.*rm -rf build/ }).click()
  await App.of(page).review()
  await expect(page.locator('[data-request-id=harm]')).toBeVisible()

  // Whatever stands beside the title of a card, its menu is in the same line.
  await page.setViewportSize({ width: 1120, height: 800 })
  const by = {
    agent_id: 'a',
    agent_type: 'general-purpose: French greeting',
    risk: 'medium',
    created_at: Date.now() / 1000 - 3 * 86_400,
  } as const
  const writes = { command: 'touch greetings/fr.txt', description: 'Write greetings/fr.txt' }
  stage.show([request('harm', { ...by, tool_input: writes }), request('other')])
  await page.goto(`${server.url}/sessions/${stage.id}`)
  const head = page.locator('[data-request-id=harm] header')
  await expect(head.getByText('Write greetings/fr.txt')).toBeVisible()
  expect((await head.boundingBox())!.height).toBeLessThan(60)
  // The shortcuts below the message are told whole, or not at all.
  for (const width of [1120, 1440]) {
    await page.setViewportSize({ width, height: 800 })
    const told = await page.locator('.key-hint').evaluate((el) => {
      const [frame, line] = [el.getBoundingClientRect(), el.firstElementChild!.getBoundingClientRect()]
      return line.top >= frame.bottom ? 'not at all' : line.left >= frame.left ? 'whole' : 'in part'
    })
    expect(told).not.toBe('in part')
  }

  // What became of a request for which something was written is told in lines, not in syllables.
  await page.setViewportSize({ width: 390, height: 800 })
  await page.goto(`${server.url}/sessions/${stage.id}`)
  stage.show([request('gone', { tool_input: { command: 'git push' } })])
  const card = page.locator('[data-request-id=gone]')
  await App.of(page).review()
  const deny = card.getByRole('button', { name: 'Ablehnen' })
  await expect(deny).not.toHaveAttribute('aria-disabled')
  await deny.click()
  await card.getByRole('textbox').fill('Nicht jetzt.')
  stage.show([])
  const told = page
    .getByRole('group', { name: /^Nicht mehr offen/ })
    .filter({ has: page.getByRole('button', { name: 'Meinen Text behalten' }) })
  await expect(told).toBeInViewport({ ratio: 1 })
  expect((await told.getByRole('paragraph').first().boundingBox())!.width).toBeGreaterThan(200)
  for (const button of await told.getByRole('button').all()) await expect(button).toBeInViewport({ ratio: 1 })
})

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { prompt, text, tool } from '../script.ts'
import { Stage } from '../stage.ts'

test('language and appearance are kept, and no other language is ever shown @newest @browsers', async ({
  page,
  server,
}) => {
  await page.goto(`${server.url}/settings`)
  await expect(page.getByRole('heading', { level: 1, name: 'Settings' })).toBeVisible()
  await page.getByLabel('Language').selectOption('Deutsch')
  await expect(page.getByRole('heading', { level: 1, name: 'Einstellungen' })).toBeVisible()
  await page.getByLabel('Erscheinungsbild').selectOption('Dunkel')
  await page.getByLabel('Dichte').selectOption('Kompakt')
  await page.getByLabel('Schriftgröße').selectOption('130 %')
  // An admin has those of the server below; which of the two comes first is not known.
  const own = page.getByRole('region', { name: 'Benachrichtigungen', exact: true })
  const finished = own.getByRole('group', { name: 'Abgeschlossene Runden' }).getByLabel('Webhook')
  await finished.check()
  await own.getByRole('button', { name: 'Speichern' }).click()
  await expect(own.getByText('Gespeichert.')).toBeVisible()

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
  await expect(finished).toBeChecked()
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

test('as much of Claude’s activity is announced as the person chose', { tag: '@newest' }, async ({ page, server }) => {
  const stage = await Stage.in(page)
  await page.goto('/settings')
  const much = page.getByRole('combobox', { name: 'Screen reader announcements' })
  await expect(much).toHaveAccessibleDescription('New requests are always announced.')
  await much.selectOption({ label: 'Every block in the open session' })
  // What reads it is fetched beside the page; what is said before is not read.
  const reader = page.waitForResponse(/\/announcements-/)
  await stage.open(server.url)
  await reader
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  await expect(async () => {
    stage.say({ kind: 'text', text: '**I** look at `main.go`.' })
    await expect(page.getByRole('log').filter({ hasText: 'I look at main.go.' })).toBeAttached({ timeout: 5_000 })
  }).toPass()
})

test(
  'custom shortcuts follow to the next device',
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

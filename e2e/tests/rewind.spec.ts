// What came after a message is undone, or told another way in a fork.
import { readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expectAccessible } from '../a11y.ts'
import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { prompt, text, write } from '../script.ts'

test('files are restored to before a message, and a fork ends before it', async ({ page, folder, rest }) => {
  const file = join(folder, 'greet.txt')
  const session = await rest.start(prompt('Greet.', [write(file, 'Hello\n')], [text('I have greeted.')]), {
    cwd: folder,
    permission_mode: 'acceptEdits',
  })
  await App.openSession(page, session)
  await expect(page.getByText('I have greeted.', { exact: true })).toBeVisible()
  const words = prompt('Greet them in another way.', [write(file, 'Hi\n')], [text('I was brief.')])
  await page.getByRole('textbox', { name: 'Message' }).fill(words)
  await page.keyboard.press('Control+Enter')
  await expect(page.getByText('I was brief.', { exact: true })).toBeVisible()
  expect(readFileSync(file, 'utf8')).toBe('Hi\n')

  const message = page.locator('.row.user').last()
  const dialog = page.getByRole('dialog', { name: 'Rewind to before this message' })
  await message.hover()
  await message.getByRole('button', { name: 'Rewind to here' }).click()
  await expect(dialog).toContainText('1 file will change')
  await expect(dialog.getByRole('listitem')).toHaveText('greet.txt')
  await expectAccessible(page, 'the dialog before a rewind', 'dialog[open]')
  await dialog.getByRole('button', { name: 'Restore', exact: true }).click()
  await expect(dialog).toBeHidden()
  expect(readFileSync(file, 'utf8')).toBe('Hello\n')
  await expect(page.getByText('admin restored files to before an earlier message.')).toBeVisible()

  // What somebody else has changed since is marked.
  writeFileSync(file, 'Mine\n')
  utimesSync(file, Date.now() / 1000 + 60, Date.now() / 1000 + 60)
  const first = page.locator('.row.user').first()
  await first.getByRole('button', { name: 'Rewind to here' }).focus()
  await page.keyboard.press('Enter')
  await expect(dialog).toContainText('Changed after Claude edited it.')
  await page.keyboard.press('Escape')

  await message.hover()
  await message.getByRole('button', { name: 'Rewind to here' }).click()
  await dialog.getByRole('radio', { name: 'Fork the conversation' }).check()
  await dialog.getByRole('button', { name: 'Fork', exact: true }).click()
  await expect(page).not.toHaveURL(new RegExp(session))
  await expect(page.getByRole('heading', { name: /^Fork of/ })).toBeVisible()
  await expect(page.getByText('I have greeted.', { exact: true })).toBeVisible()
  await expect(page.getByText('I was brief.', { exact: true })).toBeHidden()
  await expect(page.getByRole('textbox', { name: 'Message' })).toHaveValue(words)
})

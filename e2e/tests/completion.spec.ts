// Files behind an @, commands behind a /, and the models that Claude Code offers.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expectAccessible } from '../a11y.ts'
import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { play, text } from '../script.ts'

test('a message mentions a file and starts with a command, and the model is one that Claude Code offers', async ({
  page,
  server,
  scripted,
  rest,
}) => {
  execFileSync('git', ['init', '-q'], { cwd: scripted, env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' } })
  for (const name of ['limiter.go', 'my limiter.go', 'limiter.log']) writeFileSync(join(scripted, name), '')
  writeFileSync(join(scripted, '.gitignore'), '*.log\n')
  const id = await rest.start(play('Say.', [text('Done.')], [text('Noted.')]), { cwd: scripted })
  const app = await App.openSession(page, id, server.url)
  await expect(app.said('Done.')).toBeVisible()
  const options = page.getByRole('listbox', { name: 'Suggestions' }).getByRole('option')

  await app.composer().pressSequentially('/')
  await expect(options).toHaveText([/^\/ship/, /^\/\/compact/])
  await app.composer().pressSequentially('sh')
  await expect(options).toHaveText([/\[version\].*Ship it/])
  await page.keyboard.press('Tab')
  await expect(app.composer()).toHaveValue('/ship ')

  await app.composer().pressSequentially('with @lim')
  await expect(options).toHaveText(['limiter.go', 'my limiter.go'])
  await expect(app.composer()).toHaveAttribute('aria-activedescendant', (await options.first().getAttribute('id'))!)
  await expectAccessible(page, 'files behind an @')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await expect(app.composer()).toHaveValue('/ship with @"my limiter.go" ')
  await page.keyboard.press('Control+z')
  await expect(app.composer()).toHaveValue('/ship with @lim')
  await page.getByRole('button', { name: 'Mention a file or subagent' }).click()
  await options.filter({ hasText: 'reviewer' }).click()
  await expect(app.composer()).toHaveValue('/ship with @lim @agent-reviewer ')
  // What is named is tinted where it stands in the field.
  const tint = page.locator('.composer .tint')
  await expect(tint.locator('mark')).toHaveText(['/ship', '@lim', '@agent-reviewer'])
  const [field, copy] = [await app.composer().boundingBox(), await tint.boundingBox()]
  expect(copy).toEqual(field)
  await page.keyboard.press('Enter')
  await expect(app.said('Noted.')).toBeVisible()

  await page.getByRole('combobox', { name: 'Model' }).click()
  await page.getByRole('option', { name: /^Opus/ }).click()
  await expect(page.getByRole('combobox', { name: 'Model' })).toHaveText('Opus')

  await page.getByRole('button', { name: 'New session' }).first().click()
  const models = page.getByRole('radiogroup', { name: 'Model' })
  await expect(models.getByRole('radio', { name: /^Opus/ })).toBeChecked()
  await models.getByRole('radio', { name: 'Other' }).check()
  await expect(page.getByRole('combobox', { name: 'Model name' })).toBeVisible()
})

import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { bash, prompt, text } from '../script.ts'

test('a terminal session is listed, read, forked and continued, also in a folder that must be trusted first', async ({
  page,
  server,
  folder,
  model,
  claudePath,
  rest,
}) => {
  // As somebody does in a terminal of this machine.
  const say = (cwd: string, words: string) =>
    execFileSync(claudePath, ['-p', words, '--allowedTools', 'Bash'], {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env.PATH,
        HOME: join(server.folder, 'home'),
        LANG: 'C.UTF-8',
        ANTHROPIC_BASE_URL: model.url,
        ANTHROPIC_API_KEY: 'sk-ant-not-a-key',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
      },
    })
  say(folder, prompt('Count the birds.', [text('I look.'), bash('echo three herons')], [text('Three herons.')]))
  const elsewhere = join(server.folder, 'elsewhere')
  mkdirSync(elsewhere, { recursive: true })
  say(elsewhere, prompt('Keep this secret.', [text('Secret.')]))

  const app = await App.home(page, server.url)
  await page.getByRole('button', { name: 'Terminal sessions' }).click()
  const list = page.getByRole('region', { name: 'Terminal sessions' })
  const found = list.getByRole('link').filter({ hasText: folder.split('/').at(-1)! })
  await expect(found).toContainText('Count the birds.')
  await expect(list.getByText('Keep this secret.')).toHaveCount(0)
  await found.click()
  const transcript = page.getByRole('region', { name: 'Transcript' })
  await expect(transcript.getByText('Three herons.', { exact: true })).toBeVisible()
  await expect(transcript.getByText(/echo three herons/).last()).toBeVisible()

  // The folder has got settings since: whoever goes on sees them first.
  test
    .info()
    .annotations.push({ type: 'allowed on the console', description: 'the server responded with a status of 409' })
  mkdirSync(join(folder, '.claude'))
  const settings = (name: string) =>
    writeFileSync(
      join(folder, '.claude', 'settings.json'),
      JSON.stringify({
        hooks: { SessionStart: [{ hooks: [{ type: 'command', command: `touch ${join(folder, name)}` }] }] },
      }),
    )
  settings('ran')
  const trust = page.getByRole('dialog', { name: /Trust this folder\?|The settings of this folder have changed/ })
  const fork = page.getByRole('button', { name: 'Fork', exact: true })
  await fork.click()
  await expect(trust.getByText(/touch .*ran/)).toBeVisible()
  await page.keyboard.press('Escape')
  await expect(page.getByRole('alert').filter({ hasText: 'settings' })).toBeVisible()
  await fork.click()
  await trust.getByRole('button', { name: 'Trust this folder and start' }).click()
  await expect(page).toHaveURL(/\/sessions\//)
  await expect(app.said('Three herons.')).toBeVisible()
  await app.send(prompt('And now?', [text('Heard before: {{last_user_text}}')]))
  await expect(app.said(/Heard before/)).toBeVisible()

  // As long as they stay, nobody asks; when they change, a fork from the menu and a resume do, too.
  settings('ran-too')
  await page.getByRole('main').getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('main').getByRole('button', { name: 'Fork', exact: true }).click()
  await trust.getByRole('button', { name: 'Trust this folder and start' }).click()
  await expect(page.getByRole('heading', { level: 1, name: /^Fork of / })).toBeVisible()
  await app.kill()
  await expect(app.dead()).toBeVisible()
  settings('ran-again')
  await app.resume()
  await expect(trust.getByText(/touch .*ran-again/)).toBeVisible()
  await trust.getByRole('button', { name: 'Trust this folder and start' }).click()
  await expect(app.resumeButton()).toHaveCount(0)
  await page.goBack()

  await page.goBack()
  await page.getByRole('button', { name: 'Continue here' }).click()
  await expect(page).toHaveURL(/\/sessions\//)
  await expect(app.said('Three herons.')).toBeVisible()
  await app.send(prompt('Again.', [text('Going on.')]))
  await expect(app.said('Going on.')).toBeVisible()
  const id = page.url().split('/').at(-1)!
  expect((await rest.transcript(id)).filter((i) => i.kind === 'text').map((i) => i.text)).toEqual([
    'I look.',
    'Three herons.',
    'Going on.',
  ])
})

import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { bash, prompt, text } from '../script.ts'

test('a session of a terminal is listed, read, forked and taken up', async ({ page, server, folder, model, claudePath, rest }) => {
  // As somebody does in a terminal of this machine.
  const say = (cwd: string, words: string) => execFileSync(claudePath, ['-p', words, '--allowedTools', 'Bash'], {
    cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH, HOME: join(server.folder, 'home'), LANG: 'C.UTF-8', ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'sk-ant-not-a-key',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1',
    },
  })
  say(folder, prompt('Count the birds.', [text('I look.'), bash('echo three herons')], [text('Three herons.')]))
  const elsewhere = join(server.folder, 'elsewhere')
  mkdirSync(elsewhere, { recursive: true })
  say(elsewhere, prompt('Keep this secret.', [text('Secret.')]))

  const app = await App.home(page, server.url)
  await page.getByRole('button', { name: 'From terminals' }).click()
  const list = page.getByRole('region', { name: 'From terminals' })
  const found = list.getByRole('link').filter({ hasText: folder.split('/').at(-1)! })
  await expect(found).toContainText('Count the birds.')
  await expect(list.getByText('Keep this secret.')).toHaveCount(0)
  await found.click()
  const transcript = page.getByRole('region', { name: 'Transcript' })
  await expect(transcript.getByText('Three herons.', { exact: true })).toBeVisible()
  await expect(transcript.getByText(/echo three herons/).last()).toBeVisible()

  await page.getByRole('button', { name: 'Fork', exact: true }).click()
  await expect(page).toHaveURL(/\/sessions\//)
  await expect(app.said('Three herons.')).toBeVisible()
  await app.send(prompt('And now?', [text('Heard before: {{last_user_text}}')]))
  await expect(app.said(/Heard before/)).toBeVisible()

  await page.goBack()
  await page.getByRole('button', { name: 'Go on here' }).click()
  await expect(page).toHaveURL(/\/sessions\//)
  await expect(app.said('Three herons.')).toBeVisible()
  await app.send(prompt('Again.', [text('Going on.')]))
  await expect(app.said('Going on.')).toBeVisible()
  const id = page.url().split('/').at(-1)!
  expect((await rest.transcript(id)).filter((i) => i.kind === 'text').map((i) => i.text)).toEqual(['I look.', 'Three herons.', 'Going on.'])
})

// Paths in transcripts and cards lead to the file, there and in the editor of the device.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expectAccessible } from '../a11y.ts'
import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { play, text, write } from '../script.ts'

test('a path leads to the line of the file, to the editor of the device and into the message @newest', async ({
  page,
  server,
  scripted,
  rest,
}) => {
  mkdirSync(join(scripted, 'src'))
  writeFileSync(join(scripted, 'src/limiter.go'), Array.from({ length: 200 }, (_, i) => `// line ${i + 1}\n`).join(''))
  const id = await rest.start(
    play(
      'Look at src/limiter.go.',
      [text('See `src/limiter.go:150`, not https://example.org/src/limiter.go:1 or ../other/limiter.go.')],
      [write(join(scripted, 'src/new.go'), 'package src\n')],
    ),
    { cwd: scripted },
  )

  await page.goto(`${server.url}/settings`)
  await page.getByRole('combobox', { name: 'Open files in' }).selectOption('VS Code')
  const host = page.getByRole('textbox', { name: 'SSH host' })
  await host.fill('-oProxyCommand=x')
  await host.press('Tab')
  await expect(page.getByText('Enter a host name')).toBeVisible()
  await host.fill('ana@atlas')
  await host.press('Tab')

  await page.setViewportSize({ width: 1440, height: 900 })
  const app = await App.openSession(page, id, server.url)
  const card = app.card('package src')
  await expect(card).toBeVisible()
  const answer = page.getByRole('article').filter({ hasText: 'not https://example.org' }).last()
  await expect(answer.locator('a.path-link')).toHaveText(['src/limiter.go:150'])
  await expect(page.getByRole('link', { name: 'src/limiter.go', exact: true })).toBeVisible()
  await answer.getByRole('link', { name: 'src/limiter.go:150' }).click()
  const panel = page.getByRole('complementary', { name: 'Session panel' })
  await expect(panel.getByText(/line 150$/)).toBeInViewport()
  const remote = `vscode://vscode-remote/ssh-remote+ana%40atlas${scripted.split('/').map(encodeURIComponent).join('/')}`
  await expect(panel.getByRole('link', { name: 'Open in VS Code' })).toHaveAttribute(
    'href',
    `${remote}/src/limiter.go:150`,
  )
  await expectAccessible(page, 'a file at a line', '.work')
  await page.setViewportSize({ width: 1440, height: 900 })
  await panel.getByRole('button', { name: 'Mention' }).click()
  await expect(app.composer()).toHaveValue('@src/limiter.go ')

  // In a card the link is the path that is shown, and decides nothing.
  const path = card.getByRole('link', { name: 'src/new.go', exact: true })
  await expect(card.getByRole('link', { name: 'Open in VS Code' })).toHaveAttribute('href', `${remote}/src/new.go:1`)
  await path.click()
  await expect(panel.getByText('This file doesn’t exist.')).toBeVisible()
  await expect(card).toBeVisible()

  // As an address it works in another tab.
  await page.goto(new URL((await path.getAttribute('href'))!, server.url).href)
  await expect(panel.getByText('This file doesn’t exist.')).toBeVisible()
  await expect(page).toHaveURL(`${server.url}/sessions/${id}`)
  await page.getByRole('banner').or(page.locator('.header')).getByRole('button', { name: 'More' }).click()
  await expect(page.getByRole('link', { name: 'Open folder in VS Code' })).toHaveAttribute('href', remote)
})

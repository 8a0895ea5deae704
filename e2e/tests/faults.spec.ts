import { chmodSync, mkdtempSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { Page } from '@playwright/test'

import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { bash, prompt, text, tool } from '../script.ts'
import { processesWith, type Server, type Settings, startServer } from '../server.ts'
import { REST } from '../wire.ts'

// Each of these has a server of its own, because the CLI is chosen at its start.
async function withServer(page: Page, settings: Settings, use: (server: Server) => Promise<void>) {
  const server = await startServer(settings)
  try {
    await use(server)
    expect(await fetch(`${server.url}/readyz`).then((r) => r.status)).toBe(200)
  } finally {
    await page.close() // it would complain that the server is gone
    await server.stop()
  }
}

function program(folder: string, body: string): string {
  const path = join(folder, 'claude')
  writeFileSync(path, `#!/bin/sh\n${body}\n`)
  chmodSync(path, 0o755)
  return path
}

// Starts a session in the app and expects that it ends with a sentence, in the
// app and in the log.
async function expectDeath(page: Page, server: Server, sentence: RegExp) {
  const app = await App.newSession(page, server.url, server.workspace, 'Hello.')
  await expect(app.dead()).toBeVisible()
  await expect(app.problem(sentence)).toBeVisible()
  await expect.poll(() => server.log()).toMatch(sentence)
}

test('the app says that there is no CLI @newest', async ({ page, context, model, signIn }) => {
  await withServer(page, { claudePath: '/nowhere/claude', modelURL: model.url }, async (server) => {
    await signIn(context, server)
    const app = await App.home(page, server.url)
    await expect(app.problem(/\/nowhere\/claude/)).toBeVisible()
    await expect.poll(() => server.log()).toMatch(/\/nowhere\/claude/)
  })
})

test('the app says that the CLI is not executable @newest @nightly', async ({
  page,
  context,
  folder,
  model,
  signIn,
}) => {
  const path = program(folder, 'exit 0')
  chmodSync(path, 0o644)
  await withServer(page, { claudePath: path, modelURL: model.url }, async (server) => {
    await signIn(context, server)
    const app = await App.home(page, server.url)
    await expect(app.problem(/execut/i)).toBeVisible()
    await expect.poll(() => server.log()).toMatch(/execut/i)
  })
})

test('without an account the app says so and offers a demo, and a session ends with a reason', async ({
  page,
  context,
  claudePath,
  model,
  signIn,
}) => {
  await withServer(page, { claudePath, modelURL: model.url, apiKey: '' }, async (server) => {
    await signIn(context, server)
    const app = await App.home(page, server.url)
    await expect(app.problem(/not signed in/)).toBeVisible()
    await expect(app.demoButton()).toBeVisible()
    await expectDeath(page, server, /not signed in/)
  })
})

test('a session with a CLI that exits at once is dead with a reason @newest', async ({
  page,
  context,
  folder,
  model,
  signIn,
}) => {
  const path = program(
    folder,
    'case "$*" in *--version*) echo "2.1.329 (Claude Code)"; exit 0;; esac; echo "no more licence for you" >&2; exit 3',
  )
  await withServer(page, { claudePath: path, modelURL: model.url }, async (server) => {
    await signIn(context, server)
    await expectDeath(page, server, /no more licence for you/)
  })
})

test('a session with a CLI that prints invalid output is dead with a reason @newest @nightly', async ({
  page,
  context,
  folder,
  model,
  signIn,
}) => {
  const path = program(
    folder,
    'case "$*" in *--version*) echo "2.1.329 (Claude Code)"; exit 0;; esac; echo "Welcome to the jungle"; echo "{broken"; sleep 0.2; exit 0',
  )
  await withServer(page, { claudePath: path, modelURL: model.url }, async (server) => {
    await signIn(context, server)
    const app = await App.newSession(page, server.url, server.workspace, 'Hello.')
    await expect(app.dead()).toBeVisible()
    await expect.poll(() => server.log()).toMatch(/jungle|broken/)
  })
})

test('a missing folder is refused with a reason, and a session whose folder vanished is dead with a reason', async ({
  page,
  folder,
  rest,
  server,
}) => {
  test.info().annotations.push({ type: 'allowed on the console', description: 'status of 400' })
  const app = await App.newSession(page, server.url, join(folder, 'missing'), 'Hello.')
  await expect(page.getByText(/no folder .*missing/i)).toBeVisible()

  const vanishing = mkdtempSync(join(folder, 'vanishing-'))
  const id = await rest.start(prompt('Hello.', [text('Hello.')]), { cwd: vanishing })
  await app.show(id)
  await expect(app.said('Hello.')).toBeVisible()
  await app.kill()
  await expect.poll(async () => (await rest.state(id)).state).toBe('dead')
  rmdirSync(vanishing)
  await app.resume()
  await expect(app.problem(/vanishing/)).toBeVisible()
  await expect.poll(() => server.log()).toMatch(/vanishing/)
})

// The result of an edit carries the whole file as it was: one line of 21 MB. (A
// large output of Bash does not; the CLI puts it into a file.)
test('Claude continues after a tool result of 20 MB @nightly', async ({ page, folder, rest, server }) => {
  const file = join(folder, 'large')
  writeFileSync(file, 'first line\n' + `${'x'.repeat(99)}\n`.repeat(209_715))
  const id = await rest.start(
    prompt(
      'Edit much.',
      [tool('Read', { file_path: file, limit: 2 })],
      [tool('Edit', { file_path: file, old_string: 'first line', new_string: 'edited line' })],
      [text('That was much.')],
      [text('I am still here.')],
    ),
    { cwd: folder },
  )
  const app = await App.openSession(page, id)
  await app.approve(app.card())
  await expect(app.said('That was much.')).toBeVisible()
  expect(readFileSync(file, 'utf8').slice(0, 12)).toBe('edited line\n')
  await app.send('And now?')
  await expect(app.said('I am still here.')).toBeVisible()
  // What tabs and the database hold is bounded, whatever the CLI prints.
  expect(JSON.stringify(await rest.transcript(id)).length).toBeLessThan(1 << 20)
  expect(processesWith(id)).not.toHaveLength(0)
  expect(server.log()).not.toMatch(/panic/)
})

test('a session says why the model refused, and accepts the next message', async ({ page, folder, rest }) => {
  const id = await rest.start(prompt('Hello.', { status: 400, message: 'This is too silly.' }), { cwd: folder })
  const app = await App.openSession(page, id)
  await expect(app.problem(/too silly/)).toBeVisible()
  await app.send(prompt('Again.', [text('Now it works.')]))
  await expect(app.said('Now it works.')).toBeVisible()
})

test('a full disk is reported, loses nothing, and everything continues once there is space @newest @nightly', async ({
  page,
  context,
  claudePath,
  model,
  signIn,
  request,
}) => {
  test.info().annotations.push({ type: 'allowed on the console', description: 'status of 503' })
  await withServer(page, { claudePath, modelURL: model.url }, async (server) => {
    await signIn(context, server)
    const rest = new REST(request, server)
    const id = await rest.start(prompt('Make it.', [bash('touch made')], [text('It is made.')]))
    const app = await App.openSession(page, id, server.url)
    await expect(app.card('touch made')).toBeVisible()

    server.fillDisk(true)
    await app.approve(app.card())
    const said = page.getByRole('alert').getByText(/^The disk of the server is full .* nothing is lost/)
    await expect(said).toBeVisible()
    await expect(app.card().getByText(/disk/i)).toBeVisible()
    await expect(app.approveButton(app.card())).not.toHaveAttribute('aria-disabled')
    const words = prompt('And then?', [text('That was it.')])
    await app.send(words)
    await expect(app.composer()).toHaveValue(words)
    await page.getByRole('button', { name: 'New session' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('combobox', { name: 'Folder' }).fill(server.workspace)
    await dialog.getByRole('textbox', { name: /What should Claude do/ }).fill('Hello.')
    await dialog.getByRole('button', { name: 'Start session' }).click()
    await expect(dialog.getByRole('alert').filter({ hasText: /disk/i })).toBeVisible()
    await expect(dialog.getByRole('textbox', { name: /What should Claude do/ })).toHaveValue('Hello.')
    await page.keyboard.press('Escape')
    expect((await rest.state(id)).pending_requests).toHaveLength(1)

    server.fillDisk(false)
    await expect(said).toBeHidden()
    await app.approve(app.card())
    await expect(app.said('It is made.')).toBeVisible()
    await page.getByRole('button', { name: /^(Send|Queue)/ }).click()
    await expect(app.said('That was it.')).toBeVisible()
  })
})

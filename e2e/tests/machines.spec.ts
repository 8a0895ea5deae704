import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

import type { Page } from '@playwright/test'

import { expectAccessible } from '../a11y.ts'
import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { bash, play, text } from '../script.ts'
import { scriptedFolder, startServer } from '../server.ts'
import { REST } from '../wire.ts'

test('a machine is added, a session starts there and is approved, and the machine is lost and back', async ({
  page,
  claudePath,
  model,
  signIn,
  context,
}) => {
  const server = await startServer({ claudePath, scripted: true, modelURL: model.url })
  try {
    await signIn(context, server)
    const app = await App.home(page, server.url)
    await page.goto(`${server.url}/admin/machines`)
    await expect(page.getByText(/^No other machines yet/)).toBeVisible()
    await page.getByLabel('Name of the new machine').fill('build-02')
    await page.getByRole('button', { name: 'Add machine' }).click()
    await expect(page.getByText(`sayso runner --connect ${server.url}`)).toBeVisible()
    const token = await page.locator('.secret code').innerText()
    const card = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: 'build-02' }) })
    await expect(card.getByText('Offline')).toBeVisible()
    const foot = page.locator('.machines')
    await expect(foot).toHaveText('2 machines1 offline')

    const machine = server.machine('build-02', token)
    machine.start()
    await expect(card.getByText('Ready')).toBeVisible() // without a reload
    await expect(card.getByText(machine.workspace)).toBeVisible()
    await expect(foot).toHaveText('2 machines')
    await expectAccessible(page, 'the machines', '.admin')
    await page.getByRole('button', { name: 'Actions for build-02' }).click()
    await page.getByRole('button', { name: 'Remove…' }).click()
    await expectAccessible(page, 'before a machine is removed', 'dialog')
    await page.getByRole('button', { name: 'Cancel' }).click()

    await page.getByRole('button', { name: 'New session' }).first().click()
    await page.getByRole('radio', { name: /build-02/ }).check()
    await expectAccessible(page, 'a new session with machines', 'dialog')
    await page.getByRole('combobox', { name: 'Folder' }).fill(machine.workspace)
    await page
      .getByRole('textbox', { name: /What should Claude do/ })
      .fill(play('Make it.', [bash('touch made')], [text('Made there.')]))
    await page.getByRole('button', { name: 'Start session' }).click()
    const header = page.locator('main header').first()
    await expect(header.getByText('Machine build-02', { exact: true })).toBeAttached()
    await app.approve(app.card('touch made'))
    await expect(app.said('Made there.')).toBeVisible()
    expect(existsSync(join(machine.workspace, 'made'))).toBe(true)

    await app.send(play('Once more.', [bash('touch again')], [text('Again.')]))
    await expect(app.card('touch again')).toBeVisible()
    // What the page reads from the machine at that moment.
    test.info().annotations.push({ type: 'allowed on the console', description: 'status of 503' })
    await machine.lose()
    await expect(page.getByText(/build-02 can’t be reached/)).toBeVisible()
    await expect(header.getByText('Machine build-02, offline')).toBeAttached()
    await app.approve(app.card('touch again'))
    expect(existsSync(join(machine.workspace, 'again'))).toBe(false)
    machine.start()
    await expect(app.said('Again.')).toBeVisible()
    await expect(page.getByText(/build-02 can’t be reached/)).toBeHidden()
    expect(existsSync(join(machine.workspace, 'again'))).toBe(true)
  } finally {
    await page.close()
    await server.stop()
  }
})

const cardOf = (page: Page, name: string) =>
  page.getByRole('listitem').filter({ has: page.getByRole('heading', { name, exact: true }) })

test('a machine is paused, drained, resumed, renamed and removed, and sessions go where there is capacity @newest @nightly', async ({
  page,
  claudePath,
  model,
  signIn,
  context,
  playwright,
}) => {
  const server = await startServer({ claudePath, scripted: true, modelURL: model.url })
  const http = await playwright.request.newContext()
  const rest = new REST(http, server)
  try {
    await signIn(context, server)
    const shared = join(server.folder, `${scriptedFolder}shared`)
    mkdirSync(shared)
    for (const [name, max] of [
      ['alpha', 1],
      ['beta', 4],
    ] as const) {
      const { token } = await rest.post<{ token: string }>('/api/runners', { name })
      server.machine(name, token, '--workspace-root', shared, '--label', 'gpu', '--max-processes', String(max)).start()
    }
    await page.goto(`${server.url}/admin/machines`)
    const alpha = cardOf(page, 'alpha')
    for (const name of ['alpha', 'beta']) await expect(cardOf(page, name).getByText('Ready')).toBeVisible()
    const act = async (name: string, action: string) => {
      await page.getByRole('button', { name: `Actions for ${name}` }).click()
      await page.getByRole('button', { name: action, exact: true }).click()
    }
    const newSession = () => page.getByRole('button', { name: 'New session' }).first().click()
    const radio = (name: string | RegExp) => page.getByRole('radio', { name })

    await test.step('a paused or draining machine cannot be chosen, and a resumed one can', async () => {
      for (const [action, tag, why] of [
        ['Pause', 'Paused', 'alpha is paused and takes no new sessions.'],
        ['Drain', 'Draining', 'alpha is draining and starts no sessions.'],
      ] as const) {
        await act('alpha', action)
        await expect(alpha.getByText(tag, { exact: true })).toBeVisible()
        await newSession()
        await expect(radio(/alpha/)).toBeDisabled()
        await expect(page.getByRole('dialog').getByText(why)).toBeVisible()
        await page.keyboard.press('Escape')
      }
      await act('alpha', 'Resume')
      await expect(alpha.getByText('Ready')).toBeVisible()
    })

    const start = async (words: string, before?: () => Promise<void>) => {
      await newSession()
      await radio('Any machine').check()
      await page.getByRole('button', { name: 'gpu' }).click()
      await before?.()
      await page.getByRole('combobox', { name: 'Folder' }).fill(shared)
      await page.getByRole('textbox', { name: /What should Claude do/ }).fill(play(words, [text(`${words} done.`)]))
      await page.getByRole('button', { name: 'Start session' }).click()
      await expect(page.getByText(`${words} done.`, { exact: true })).toBeVisible()
      return page.locator('main header').first()
    }
    const on = (name: string) => `Machine ${name}`
    await test.step('any machine with a label is the one with the most free capacity', async () => {
      const first = await start('First')
      await expect(first.getByText(on('alpha'), { exact: true })).toBeAttached()
      const second = await start('Second', async () => {
        await expect(radio(/^alpha.*Full/)).toBeDisabled()
      })
      await expect(second.getByText(on('beta'), { exact: true })).toBeAttached()
    })

    await page.goto(`${server.url}/admin/machines`)
    await test.step('another name is shown everywhere', async () => {
      await act('alpha', 'Rename…')
      await page.getByLabel('Name', { exact: true }).fill('gamma')
      await page.getByRole('button', { name: 'Save' }).click()
      await expect(cardOf(page, 'gamma').getByText('1 of 1', { exact: true })).toBeVisible()
      await newSession()
      await expect(radio(/^gamma.*Full/)).toBeDisabled()
      await page.keyboard.press('Escape')
    })

    await test.step('a removed machine is gone, with its sessions', async () => {
      await act('gamma', 'Remove…')
      await page.getByRole('button', { name: 'Remove machine' }).click()
      await expect(page.getByText('gamma removed.')).toBeVisible()
      await expect(cardOf(page, 'gamma')).toBeHidden()
      await expect(page.locator('.machines')).toHaveText('2 machines')
      const { sessions } = await rest.get<{ sessions: { title: string }[] }>('/api/sessions')
      expect(sessions.map((s) => s.title)).toHaveLength(1)
    })
  } finally {
    await page.close()
    await http.dispose()
    await server.stop()
  }
})

test('a server that starts no sessions itself says so, and they start on its machine @newest @nightly', async ({
  page,
  claudePath,
  model,
  signIn,
  context,
  playwright,
}) => {
  const server = await startServer({
    claudePath,
    scripted: true,
    modelURL: model.url,
    arguments: ['--local-runner=false'],
  })
  const http = await playwright.request.newContext()
  const rest = new REST(http, server)
  try {
    await signIn(context, server)
    await App.home(page, server.url)
    const newSession = () => page.getByRole('button', { name: 'New session' }).first().click()
    await test.step('without a machine, a new session says what to do', async () => {
      await newSession()
      const dialog = page.getByRole('dialog')
      await expect(dialog.getByText('No machine is connected')).toBeVisible()
      await expectAccessible(page, 'a new session without a machine', 'dialog')
      await dialog.getByRole('button', { name: 'Add a machine' }).click()
      await expect(page.getByText('No machines yet. Add one to start sessions.')).toBeVisible()
    })
    const { token } = await rest.post<{ token: string }>('/api/runners', { name: 'build-02' })
    const machine = server.machine('build-02', token)
    await test.step('while its machine is offline, it names that', async () => {
      await newSession()
      await expect(page.getByRole('dialog').getByText(/^build-02 is offline/)).toBeVisible()
      machine.start()
      await page.getByRole('radio', { name: /build-02/ }).check() // the form comes by itself
    })
    await test.step('a session starts on it', async () => {
      await page.getByRole('combobox', { name: 'Folder' }).fill(machine.workspace)
      await page
        .getByRole('textbox', { name: /What should Claude do/ })
        .fill(play('Make it.', [bash('touch made')], [text('Made there.')]))
      await page.getByRole('button', { name: 'Start session' }).click()
      const app = App.of(page)
      await app.approve(app.card('touch made'))
      await expect(app.said('Made there.')).toBeVisible()
      expect(existsSync(join(machine.workspace, 'made'))).toBe(true)
      await page.reload()
      await expect(app.said('Made there.')).toBeVisible()
    })
  } finally {
    await page.close()
    await http.dispose()
    await server.stop()
  }
})

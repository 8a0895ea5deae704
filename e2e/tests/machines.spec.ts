import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { expectAccessible } from '../a11y.ts'
import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { bash, play, text } from '../script.ts'
import { startServer } from '../server.ts'

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

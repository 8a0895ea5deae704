import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'

import type { Page } from '@playwright/test'

import { App } from '../app.ts'
import { awayMessages, expect, test } from '../fixtures.ts'
import { bash, prompt, text } from '../script.ts'
import { startServer } from '../server.ts'
import { REST } from '../wire.ts'

const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const paper = Buffer.from(
  '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n' +
    '3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n',
)
const attached = [text('Seen: {{attached}}.')]

// Pastes or drops a file, as a browser does with one from outside.
const give = (page: Page, how: 'paste' | 'drop', name: string, type: string, data: Buffer) =>
  page.getByRole('textbox', { name: 'Message to Claude' }).evaluate(
    (el, { how, name, type, data }) => {
      const carried = new DataTransfer()
      carried.items.add(new File([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], name, { type }))
      const init = { bubbles: true, cancelable: true }
      const event =
        how === 'paste'
          ? new ClipboardEvent('paste', { ...init, clipboardData: carried })
          : new DragEvent('drop', { ...init, dataTransfer: carried })
      // Firefox gives an event that a script made a clipboard of its own.
      if (how === 'paste') Object.defineProperty(event, 'clipboardData', { value: carried })
      el.dispatchEvent(event)
    },
    { how, name, type, data: data.toString('base64') },
  )

test('picked, pasted and dropped files reach the model, across a reload and a crash of the server @browsers', async ({
  page,
  context,
  claudePath,
  model,
  request,
  signIn,
}, info) => {
  for (const description of awayMessages) info.annotations.push({ type: 'allowed on the console', description })
  info.annotations.push({ type: 'allowed on the console', description: '422' })

  const server = await startServer({ claudePath, modelURL: model.url })
  try {
    await signIn(context, server)
    const rest = new REST(request, server)
    const folder = mkdtempSync(join(server.workspace, 'project-'))

    // In the dialog of a new session.
    const app = await App.home(page, server.url)
    await page.getByRole('button', { name: 'New session' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('combobox', { name: 'Folder' }).fill(folder)
    await dialog
      .getByLabel('Files to attach')
      .setInputFiles({ name: 'icon.png', mimeType: 'image/png', buffer: picture })
    await expect(dialog.getByRole('button', { name: 'Remove icon.png' })).toBeVisible()
    await dialog.getByRole('textbox', { name: /What should Claude do/ }).fill(prompt('Look.', attached))
    await dialog.getByRole('button', { name: 'Start session' }).click()
    await expect(app.said('Seen: image image/png')).toBeVisible()
    await expect(page.getByRole('img', { name: 'icon.png' })).toBeVisible()
    const session = page.url().split('/').at(-1)!

    // In the composer: what a file is, its bytes say.
    const list = page.getByRole('list', { name: 'Attachments' })
    await give(page, 'paste', 'pasted.gif', 'image/gif', picture)
    await expect(list.getByText('pasted.gif')).toBeVisible()
    await give(page, 'drop', 'paper.txt', 'text/plain', paper)
    await expect(list.getByText('paper.txt')).toBeVisible()
    await give(page, 'drop', 'program.png', 'image/png', Buffer.from([0, 1, 2, 3]))
    await expect(page.getByRole('alert').getByText(/“program.png” can.t be attached/)).toBeVisible()
    await page.getByRole('button', { name: 'Remove pasted.gif' }).click()
    await app.composer().fill('Not sent yet')
    await server.crash()
    await page.reload()
    await expect(list.getByText('paper.txt')).toBeVisible()
    await expect(list.getByText('pasted.gif')).toHaveCount(0)
    await expect(app.composer()).toHaveValue('Not sent yet')
    await app.send(prompt('And this.', attached))
    await expect(app.said(/Seen: image image\/png .*; document application\/pdf \d+ \w+ paper\.txt/)).toBeVisible()
    await expect(page.getByRole('link', { name: /^paper.txt/ })).toHaveAttribute('download', 'paper.txt')

    // One that waits while Claude works outlives a crash, and is taken back with its file.
    await app.send(prompt('Work.', [bash('touch done')], [text('Worked.')]))
    await expect(app.card('touch done')).toBeVisible()
    await give(page, 'paste', 'notes.txt', 'text/plain', Buffer.from('Some notes.'))
    await expect(list.getByText('notes.txt')).toBeVisible()
    await app.send(prompt('Later.', attached))
    const queue = page.getByRole('list', { name: 'Queued messages' })
    await expect(queue.getByText('notes.txt')).toBeVisible()
    await queue.getByRole('button', { name: 'Edit' }).click()
    await expect(app.composer()).toHaveValue(/^Later\./)
    await expect(page.getByRole('button', { name: 'Remove notes.txt' })).toBeVisible()
    await page.getByRole('button', { name: /^(Send|Queue)/ }).click()
    await expect(queue.getByText('notes.txt')).toBeVisible()
    await server.crash()
    await expect.poll(async () => (await rest.state(session)).queued_messages).toBe(1)
    await app.approve(app.card('touch done'))
    await expect(app.said(/Seen: .*document text\/plain 11 \w+ notes\.txt/)).toBeVisible()

    // A fork knows them, and shows them.
    await page.getByRole('button', { name: 'More', exact: true }).click()
    await page.getByRole('button', { name: 'Fork', exact: true }).click()
    await expect(page).not.toHaveURL(new RegExp(session))
    await expect(page.getByRole('heading', { name: /^Fork of/ })).toBeVisible()
    await expect(page.getByRole('link', { name: /^notes.txt/ })).toBeVisible()
    await app.send(prompt('In the fork.', attached))
    await expect(app.said(/Seen: image image\/png .*notes\.txt/)).toBeVisible()
  } finally {
    await page.close()
    await server.stop()
  }
})

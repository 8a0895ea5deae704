import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { bash, prompt, text, write } from '../script.ts'

test('approve, and the file exists @older', async ({ page, context, folder, rest }) => {
  const file = join(folder, 'approved')
  const id = await rest.start(prompt('Make a file.', [bash(`touch ${file}`)], [text('I made it.')]), { cwd: folder })
  const desk = await App.openSession(page, id)
  const phone = await App.openSession(await context.newPage(), id)

  await expect(phone.card().getByText(`touch ${file}`).first()).toBeVisible()
  expect(existsSync(file)).toBe(false)
  await desk.approve(desk.card())

  await expect(desk.said('I made it.')).toBeVisible()
  expect(existsSync(file)).toBe(true)
  await expect(desk.cards()).toHaveCount(0)
  await expect(phone.cards()).toHaveCount(0)
})

test('a file is written as the diff shows it', async ({ page, folder, rest }) => {
  const file = join(folder, 'new.txt')
  const id = await rest.start(prompt('Write.', [write(file, 'one\ntwo\n')], [text('Written.')]), { cwd: folder })
  const app = await App.openSession(page, id)

  await expect(app.card().getByText('two')).toBeVisible()
  await app.approve(app.card())
  await expect(app.said('Written.')).toBeVisible()
  expect(readFileSync(file, 'utf8')).toBe('one\ntwo\n')
})

test('deny with a reason, and Claude reads it @older', async ({ page, context, folder, rest }) => {
  const file = join(folder, 'denied')
  const id = await rest.start(
    prompt('Make a file.', [bash(`touch ${file}`)], [text('You said: {{last_tool_result}}')]),
    { cwd: folder },
  )
  const desk = await App.openSession(page, id)
  const phone = await App.openSession(await context.newPage(), id)

  await expect(phone.card()).toBeVisible()
  await desk.deny(desk.card(), 'Use pnpm, not npm.')

  await expect(desk.said(/You said: .*Use pnpm, not npm\./s)).toBeVisible()
  await expect(phone.cards()).toHaveCount(0)
  expect(existsSync(file)).toBe(false)
})

test('edit the command, and the edited one runs', async ({ page, folder, rest }) => {
  const asked = join(folder, 'asked')
  const edited = join(folder, 'edited')
  const id = await rest.start(prompt('Make a file.', [bash(`touch ${asked}`)], [text('Done as you like it.')]), {
    cwd: folder,
  })
  const app = await App.openSession(page, id)

  await app.approveEdited(app.card(), `touch ${edited}`)

  await expect(app.said('Done as you like it.')).toBeVisible()
  expect(existsSync(edited)).toBe(true)
  expect(existsSync(asked)).toBe(false)
  await expect(page.getByText(/^Edited by .* before it ran$/).first()).toBeVisible()
  // The prompt of this test says what Claude asks for; nothing else does.
  await expect(page.getByText(`touch ${asked}`).filter({ hasNotText: '"replies"' })).toHaveCount(0)
})

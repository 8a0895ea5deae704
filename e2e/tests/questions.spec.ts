import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { ask, prompt, question, text } from '../script.ts'

const format = question('Which format do you want?', 'Format', ['Summary', 'Full text', 'Table'])
const parts = question('Which parts?', 'Parts', ['Intro', 'Body', 'End'], true)
const heard = [text('You said: {{last_tool_result}}')]

test('a question with one answer @older', async ({ page, context, folder, rest }) => {
  const id = await rest.start(prompt('Ask me.', [ask(format)], heard), { cwd: folder })
  const desk = await App.openSession(page, id)
  const phone = await App.openSession(await context.newPage(), id)

  await expect(phone.card().getByText('Which format do you want?')).toBeVisible()
  await expect(desk.submitButton(desk.card())).toBeDisabled()
  await desk.card().getByRole('radio', { name: 'Full text' }).check()
  await desk.submit(desk.card())

  await expect(desk.said(/"Which format do you want\?"="Full text"/)).toBeVisible()
  await expect(desk.cards()).toHaveCount(0)
  await expect(phone.cards()).toHaveCount(0)
})

test('a question with several answers', async ({ page, folder, rest }) => {
  const id = await rest.start(prompt('Ask me.', [ask(parts)], heard), { cwd: folder })
  const app = await App.openSession(page, id)

  await app.card().getByRole('checkbox', { name: 'Intro' }).check()
  await app.card().getByRole('checkbox', { name: 'End' }).check()
  await app.submit(app.card())

  await expect(app.said(/"Which parts\?"="Intro, End"/)).toBeVisible()
})

test('a question answered in own words, next to one with an option', async ({ page, folder, rest }) => {
  const id = await rest.start(prompt('Ask me.', [ask(format, parts)], heard), { cwd: folder })
  const app = await App.openSession(page, id)

  await app.other(app.card(), 'Which format do you want?', 'A poem, please')
  await expect(app.submitButton(app.card())).toBeDisabled()
  await app.card().getByRole('checkbox', { name: 'Body' }).check()
  await app.submit(app.card())

  await expect(app.said(/="A poem, please"/)).toBeVisible()
  await expect(app.said(/="Body"/)).toBeVisible()
})

test('a question declined', async ({ page, context, folder, rest }) => {
  const id = await rest.start(prompt('Ask me.', [ask(format)], heard), { cwd: folder })
  const desk = await App.openSession(page, id)
  const phone = await App.openSession(await context.newPage(), id)

  await expect(phone.card()).toBeVisible()
  await desk.decline(desk.card(), 'Decide yourself.')

  await expect(desk.said(/You said: .*Decide yourself\./s)).toBeVisible()
  await expect(phone.cards()).toHaveCount(0)
})

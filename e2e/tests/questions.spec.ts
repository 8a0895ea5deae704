import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { ask, prompt, question, text } from '../script.ts'

const format = question('Which format do you want?', 'Format', ['Summary', 'Full text', 'Table'])
const parts = question('Which parts?', 'Parts', ['Intro', 'Body', 'End'], true)

// One conversation: what the CLI and the pages cost is paid once.
test('questions are answered with one option, several, free text, or declined @browsers', async ({
  page,
  context,
  folder,
  rest,
}) => {
  const heard = (which: string) => text(`${which} answer: {{last_tool_result}}`)
  const id = await rest.start(
    prompt(
      'Ask me.',
      [ask(format)],
      [heard('First'), ask(parts)],
      [heard('Second'), ask(format, parts)],
      [heard('Third'), ask(format)],
      [heard('Fourth')],
    ),
    { cwd: folder },
  )
  const desk = await App.openSession(page, id)
  const phone = await App.openSession(await context.newPage(), id)

  await test.step('one option', async () => {
    await expect(phone.card().getByText('Which format do you want?')).toBeVisible()
    await expect(desk.submitButton(desk.card())).toBeDisabled()
    await desk.card().getByRole('radio', { name: 'Full text' }).check()
    await desk.submit(desk.card())
    await expect(desk.said(/First answer: .*"Which format do you want\?"="Full text"/)).toBeVisible()
  })

  await test.step('several options', async () => {
    for (const app of [desk, phone]) {
      await expect(app.cards()).toHaveCount(1)
      await expect(app.card('Which parts?')).toBeVisible()
    }
    await desk.card().getByRole('checkbox', { name: 'Intro' }).check()
    await desk.card().getByRole('checkbox', { name: 'End' }).check()
    await desk.submit(desk.card())
    await expect(desk.said(/Second answer: .*"Which parts\?"="Intro, End"/)).toBeVisible()
  })

  await test.step('free text next to one with an option', async () => {
    await desk.other(desk.card(), 'Which format do you want?', 'A poem, please')
    await expect(desk.submitButton(desk.card())).toBeDisabled()
    await desk.card().getByRole('checkbox', { name: 'Body' }).check()
    await desk.submit(desk.card())
    await expect(desk.said(/Third answer: .*="A poem, please"/)).toBeVisible()
    await expect(desk.said(/Third answer: .*="Body"/)).toBeVisible()
  })

  await test.step('declined', async () => {
    await expect(phone.card()).toBeVisible()
    await desk.decline(desk.card(), 'Decide yourself.')
    await expect(desk.said(/Fourth answer: .*Decide yourself\./s)).toBeVisible()
    await expect(desk.cards()).toHaveCount(0)
    await expect(phone.cards()).toHaveCount(0)
  })
})

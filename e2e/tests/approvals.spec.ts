import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { bash, prompt, text, write } from '../script.ts'

// One conversation: what the CLI and the pages cost is paid once.
test('a command is approved, denied with a reason and edited, and a file is written as its diff shows @older @browsers', async ({
  page,
  context,
  folder,
  rest,
}) => {
  const [approved, denied, asked, edited, written] = ['approved', 'denied', 'asked', 'edited', 'new.txt'].map((name) =>
    join(folder, name),
  )
  const id = await rest.start(
    prompt(
      'Make files.',
      [bash(`touch ${approved}`)],
      [text('I made it.'), bash(`touch ${denied}`)],
      [text('You said: {{last_tool_result}}'), bash(`touch ${asked}`)],
      [text('Done as you like it.'), write(written!, 'one\ntwo\n')],
      [text('Written.')],
    ),
    { cwd: folder },
  )
  const desk = await App.openSession(page, id)
  const phone = await App.openSession(await context.newPage(), id)
  /** Both tabs show this request and no other, and nothing was done yet. */
  const open = async (path: string) => {
    for (const app of [desk, phone]) {
      await expect(app.cards()).toHaveCount(1)
      await expect(app.card(basename(path))).toBeVisible()
    }
    expect(existsSync(path)).toBe(false)
  }

  await test.step('approve, and the file exists', async () => {
    await open(approved!)
    await expect(phone.card().getByText(`touch ${approved}`).first()).toBeVisible()
    await desk.approve(desk.card())
    await expect(desk.said('I made it.')).toBeVisible()
    expect(existsSync(approved!)).toBe(true)
  })

  await test.step('deny with a reason, and Claude gets it', async () => {
    await open(denied!)
    await desk.deny(desk.card(), 'Use pnpm, not npm.')
    await expect(desk.said(/You said: .*Use pnpm, not npm\./s)).toBeVisible()
    expect(existsSync(denied!)).toBe(false)
  })

  await test.step('edit, and the edited command runs', async () => {
    await open(asked!)
    await desk.approveEdited(desk.card(), `touch ${edited}`)
    await expect(desk.said('Done as you like it.')).toBeVisible()
    expect(existsSync(edited!)).toBe(true)
    expect(existsSync(asked!)).toBe(false)
    await expect(page.getByText(/^Edited by .* before it ran$/).first()).toBeVisible()
    // The prompt of this test says what Claude asks for; nothing else does.
    await expect(page.getByText(`touch ${asked}`).filter({ hasNotText: '"replies"' })).toHaveCount(0)
  })

  await test.step('write a file as its diff shows', async () => {
    await open(written!)
    await expect(desk.card().getByText('two')).toBeVisible()
    await desk.approve(desk.card())
    await expect(desk.said('Written.')).toBeVisible()
    expect(readFileSync(written!, 'utf8')).toBe('one\ntwo\n')
    for (const app of [desk, phone]) await expect(app.cards()).toHaveCount(0)
  })
})

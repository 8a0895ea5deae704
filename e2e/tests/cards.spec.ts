import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { Page } from '@playwright/test'

import { App } from '../app.ts'
import { file, tool as asked } from '../../frontend/src/testcards.ts'
import { expect, test } from '../fixtures.ts'
import { bash, play, prompt, text, tool } from '../script.ts'
import { Stage } from '../stage.ts'

// The card looks again when somebody comes back to its window.
const comeBack = (page: Page) => page.evaluate(() => window.dispatchEvent(new Event('focus')))

test('an edit is compared with the current file, also while its card is open @newest @browsers', async ({
  page,
  folder,
  rest,
}) => {
  const file = join(folder, 'list.txt')
  const lines = Array.from({ length: 30 }, (_, i) => `line ${i + 1}`)
  writeFileSync(file, lines.join('\n') + '\n')
  const id = await rest.start(
    prompt(
      'Change it.',
      [tool('Read', { file_path: file })],
      [tool('Edit', { file_path: file, old_string: 'line 17\n', new_string: 'line seventeen\n' })],
      [text('You said: {{last_tool_result}}')],
    ),
    { cwd: folder },
  )
  const app = await App.openSession(page, id)
  const card = app.card()
  await expect(card.getByText('Compared with the current file')).toBeVisible()
  await expect(card.locator('ins')).toHaveText(/17\+added line: line seventeen\n$/)
  await expect(card.locator('del')).toHaveText(/17\s*−removed line: line 17\n$/)
  await expect(card.getByText('line 14')).toBeVisible()

  writeFileSync(file, lines.filter((l) => l !== 'line 17').join('\n') + '\n')
  await expect(async () => {
    await comeBack(page)
    await expect(card.getByText('Text not found in the current file. This will fail.')).toBeVisible({
      timeout: 1_500,
    })
  }).toPass()
  await expect(card.getByText('The file changed after Claude read it.')).toBeVisible()
  await expect(card.getByText('The file on disk just changed. Review it again before you approve.')).toBeVisible()

  writeFileSync(file, 'line 17\n'.repeat(3))
  await expect(async () => {
    await comeBack(page)
    await expect(card.getByText('Text found 3 times instead of once. This will fail.')).toBeVisible({
      timeout: 1_500,
    })
  }).toPass()
  await app.deny(card, 'It is another file now.')
  await expect(app.said(/You said: .*It is another file now\./s)).toBeVisible()
  expect(readFileSync(file, 'utf8')).toBe('line 17\n'.repeat(3))
})

test('a diff is highlighted later without moving its card @newest', async ({ page, server }) => {
  const stage = await Stage.in(page)
  await stage.open(server.url)
  const [before, after] = ['// the one\nreturn limit\n', "// the two\nreturn 'none'\n"]
  stage.previews.set('w', file({ line: 11, before, after, line_ends_before: 'crlf', line_ends_after: 'lf' }))
  const edit = asked(
    'Edit',
    { file_path: '/w/a.ts', old_string: before, new_string: after },
    { request_id: 'w', input_hash: 'sha256:w' },
  )
  // The worker is held up until the card was looked at.
  let go = () => {}
  const held = new Promise<void>((r) => (go = r))
  await page.route('**/highlight.worker*', (route) => held.then(() => route.continue()))
  stage.show([edit])
  const app = App.of(page)
  const card = app.card()
  await expect(card.getByText('Line endings change from CRLF to LF')).toBeVisible()
  await expect(app.approveButton(card)).not.toHaveAttribute('aria-disabled')
  const look = () =>
    card.locator('.line').evaluateAll((all) => all.map((el) => [el.outerHTML, el.getBoundingClientRect().toJSON()]))
  const painted = (name: string) =>
    page.evaluate(
      (key) =>
        [...(CSS.highlights.get(key) ?? [])].map((r) =>
          (r.startContainer as Text).data.slice(r.startOffset, r.endOffset),
        ),
      name,
    )
  const plain = await look()
  expect(await painted('code-keyword')).toEqual([])
  go()
  await expect.poll(() => painted('code-keyword')).toEqual(['return', 'return'])
  expect(await painted('code-comment')).toEqual(['// the one', '// the two'])
  expect(await painted('code-string')).toEqual(["'none'"])
  expect(await painted('word-add')).toEqual(['two', "'none'"])
  expect(await look()).toEqual(plain)
  await expect(app.approveButton(card)).not.toHaveAttribute('aria-disabled')
  // In forced colours each piece would look selected.
  await page.emulateMedia({ forcedColors: 'active' })
  await expect.poll(() => painted('code-keyword')).toEqual([])
  stage.show([])
  await expect.poll(() => painted('word-add')).toEqual([])
})

test('dangerous commands are marked and take more than one press @newest @browsers', async ({
  page,
  scripted,
  rest,
}) => {
  const build = join(scripted, 'build')
  mkdirSync(build)
  const id = await rest.start(
    play('Clean up.', [bash(`ls && r''m -rf ${build}`)], [bash(`rm -rf ${scripted}/nothing`)], [text('Cleaned.')]),
    { cwd: scripted },
  )
  const app = await App.openSession(page, id)
  const first = app.card(build)
  await expect(first.locator('mark')).toHaveText(`r''m -rf ${build}`)
  await expect(first.getByText('High risk').first()).toBeVisible()
  await expect(first.getByRole('listitem').filter({ hasText: 'deletes folders and everything in them' })).toBeVisible()
  await app.choose(first, 'Why is Claude asking?')
  await expect(first.getByText('This session’s permission mode is')).toBeVisible()

  // A press asks for more, in the place of Approve; the dangerous word, typed, is enough.
  await app.approve(first)
  const word = first.getByRole('textbox', { name: /^Type “rm -rf”/ })
  await expect(word).toBeVisible()
  await expect(app.approveButton(first)).toHaveCount(0)
  expect(existsSync(build)).toBe(true)
  await word.fill('rm -rf')
  await first.getByRole('button', { name: 'Approve', exact: true }).click()
  const second = app.card('/nothing')
  await expect(second).toBeVisible()
  expect(existsSync(build)).toBe(false)

  // And so is a key that is held.
  await second.focus()
  await expect(app.approveButton(second)).not.toHaveAttribute('aria-disabled')
  await page.keyboard.down('y')
  await expect(second.getByRole('button', { name: 'Hold to approve' })).toBeVisible()
  await expect(app.said('Cleaned.')).toBeVisible()
  await page.keyboard.up('y')
})

test.describe(() => {
  test.use({ undo: 'usual', goesOn: false })

  test('an approval can be undone for some seconds, and then counts @newest @browsers', async ({
    page,
    context,
    scripted,
    rest,
  }) => {
    const build = join(scripted, 'build')
    mkdirSync(build)
    const id = await rest.start(play('Clean up.', [bash(`rm -rf ${build}`)], [text('Cleaned.')]), { cwd: scripted })
    // Long enough for a slow machine.
    await page.addInitScript(() => {
      if (location.protocol.startsWith('http')) localStorage.setItem('sayso:undoFor', '10')
    })
    const app = await App.openSession(page, id)
    const other = await App.openSession(await context.newPage(), id)
    const card = app.card(build)
    const word = card.getByRole('textbox', { name: /^Type “rm -rf”/ })
    const held = /^Goes to Claude in/
    async function approve() {
      await app.approve(card)
      await word.fill('rm -rf')
      await card.getByRole('button', { name: 'Approve', exact: true }).click()
    }
    await approve()
    await expect(app.outcome().getByRole('button', { name: 'Undo' })).toBeVisible()
    await expect(page.getByRole('region', { name: 'Undo window' })).toBeHidden()
    await page.keyboard.press('Control+z')
    await expect(app.outcome()).toHaveCount(0)
    await expect(app.approveButton(card)).not.toHaveAttribute('aria-disabled')
    const waits = async () => (await rest.state(id)).pending_requests.map((r) => r.status)
    expect(await waits()).toEqual(['open'])

    // So does its key; the button does the same, and the other tab sees both.
    await page.bringToFront()
    await approve()
    await expect(app.outcome()).toBeFocused()
    await page.keyboard.press('u')
    await expect(app.outcome()).toHaveCount(0)
    expect(await waits()).toEqual(['open'])
    await approve()
    await expect(other.outcome().getByText(held)).toBeVisible()
    await app.outcome().getByRole('button', { name: 'Undo' }).click()
    await expect(other.outcome()).toHaveCount(0)
    await expect(other.approveButton(other.card(build))).not.toHaveAttribute('aria-disabled')
    expect(await waits()).toEqual(['open'])
    expect(existsSync(build)).toBe(true)

    await other.page.evaluate(() => localStorage.setItem('sayso:undoFor', '3'))
    await expect(page.locator('html')).toHaveAttribute('data-undo-for', '3')
    await approve()
    await expect(app.said('Cleaned.')).toBeVisible()
    expect(existsSync(build)).toBe(false)
  })
})

test('a rule granted with an approval says what it allows, and can be revoked with one press @newest', async ({
  page,
  folder,
  rest,
}) => {
  const id = await rest.start(prompt('Make it.', [bash(`touch ${folder}/one`)], [text('One.')]), { cwd: folder })
  const app = await App.openSession(page, id)
  const card = app.card()
  await card.getByText('Don’t ask again…').click()
  await expect(card.getByText('Exactly this:')).toBeVisible()
  const offer = card.getByRole('radio', { name: /^Always allow/ }).first()
  await offer.check()
  await expect(card.getByRole('combobox', { name: 'Applies to' })).toHaveValue('session')
  await app.approve(card)
  await expect(app.said('One.')).toBeVisible()
  await expect(page.getByText('Claude no longer asks for')).toBeVisible()

  await page.keyboard.press('Control+z')
  await expect(page.getByText('Rule revoked. Claude asks again.')).toBeVisible()
  await app.send(prompt('Again.', [bash(`touch ${folder}/one`)], [text('Two.')]))
  await expect(app.card()).toBeVisible()
  await app.approve(app.card())
  await expect(app.said('Two.')).toBeVisible()
})

test('an edited command is reviewed again, and its changes are shown @newest', async ({ page, scripted, rest }) => {
  const id = await rest.start(play('Clean up.', [bash(`rm -rf ${scripted}/a`)], [text('Done.')]), { cwd: scripted })
  const app = await App.openSession(page, id)
  const card = app.card()
  await expect(card.getByText('High risk').first()).toBeVisible()
  await app.choose(card, 'Edit')
  await card.getByRole('textbox', { name: 'Command' }).fill(`touch ${scripted}/a`)
  const difference = card.getByRole('group', { name: 'Your changes' })
  await expect(difference.locator('ins')).toHaveText('added: touch')
  await expect(card.getByText('Medium risk').first()).toBeVisible()
  await expect(card.getByText('High risk')).toHaveCount(0)
  await app.approve(card)
  await expect(app.said('Done.')).toBeVisible()
  expect(existsSync(join(scripted, 'a'))).toBe(true)
})

test('the content of a file is edited in an editor that hides and changes nothing by itself @newest @browsers', async ({
  page,
  server,
}) => {
  const stage = await Stage.in(page)
  await stage.open(server.url)
  const content = 'one\r\ntwo\u202e\r\n'
  stage.previews.set('w', file({ state: 'new', line: 1, after: content }))
  stage.show([asked('Write', { file_path: '/w/a.txt', content }, { request_id: 'w', input_hash: 'sha256:w' })])
  const app = App.of(page)
  const card = app.card()
  await expect(app.approveButton(card)).not.toHaveAttribute('aria-disabled')
  await card.focus()
  await page.keyboard.press('e')
  const editor = card.getByRole('textbox', { name: 'Content' })
  await expect(editor).toBeFocused()
  await expect(editor.getByText('RLO')).toBeVisible()

  // Letters are letters in it, Tab indents, and Escape leads out to the card.
  await page.keyboard.press('Control+Home')
  await page.keyboard.type('yn1?')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Escape')
  await expect(card).toBeFocused()
  expect(stage.commands.filter((c) => c.type === 'pending_request_response')).toEqual([])
  await expect(card.getByRole('group', { name: 'Your changes' }).locator('ins').first()).toContainText('yn1?')

  await editor.focus()
  await page.keyboard.press('Control+f')
  await card.getByRole('textbox', { name: 'Find' }).fill('two')
  await page.keyboard.press('Escape')
  await expect(editor).toBeFocused()
  await expect(app.approveButton(card)).not.toHaveAttribute('aria-disabled')
  await page.keyboard.press('Control+Enter')
  await expect
    .poll(() => stage.commands.find((c) => c.type === 'pending_request_response'))
    .toMatchObject({ decision: 'allow', updated_input: { content: 'yn1?\r\n  one\r\ntwo\u202e\r\n' } })
})

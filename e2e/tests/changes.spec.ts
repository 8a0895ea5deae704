// The Changes and Files panels: what became of the folder of a session.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expectAccessible } from '../a11y.ts'
import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { bash, play, prompt, text, write } from '../script.ts'

const GO = `package signin

type Limiter struct {
	mu sync.Mutex
	count   map[string]int
	started time.Time
	window  time.Duration
}
${Array.from({ length: 20 }, (_, i) => `\n// line ${i}`).join('')}

func (l *Limiter) Allow() bool { return true }
`

// A repository with a commit, and changes on top.
function repository(folder: string) {
  const git = (...args: string[]) =>
    execFileSync('git', args, {
      cwd: folder,
      env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
    })
  const write = (name: string, content: string) => writeFileSync(join(folder, name), content)
  git('init', '-q', '-b', 'main')
  git('config', 'user.name', 'Mara')
  git('config', 'user.email', 'mara@example.org')
  mkdirSync(join(folder, 'signin'))
  write('signin/limiter.go', GO)
  write('README.md', '# The shop\n\nIt sells.\n')
  git('add', '-A')
  git('commit', '-q', '-m', 'first')
  git('checkout', '-q', '-b', 'fix/limiter')
  write(
    'signin/limiter.go',
    GO.replace('count   map[string]int', 'attempts map[string]*ring').replace('return true', 'return l.ask()'),
  )
  write('signin/ring.go', 'package signin\n\ntype ring struct{}\n')
  // What would run if the repository were trusted.
  git('config', 'core.fsmonitor', `touch '${join(folder, 'ran')}'`)
  return git
}

test('changes are reviewed, commented on, discarded and committed', async ({ page, server, scripted, rest }, info) => {
  info.annotations.push({ type: 'allowed on the console', description: '409' }) // a refused discard
  await App.newSession(page, server.url, scripted, play('Say.', [text('Done.')], [text('Noted.')]))
  await expect(page.getByText('Done.', { exact: true })).toBeVisible()
  // A folder with a repository would have to be trusted first.
  const git = repository(scripted)
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.getByRole('button', { name: 'Changes and files' }).click()
  const panel = page.getByRole('complementary', { name: 'Session panel' })
  await expect(panel.getByText('fix/limiter')).toBeVisible()
  await expect(panel.getByRole('listitem').filter({ hasText: 'signin/limiter.go' })).toContainText('+2−2')
  await expect(panel.getByRole('listitem').filter({ hasText: 'signin/ring.go' })).toContainText('New+3−0')
  const diff = panel.getByRole('group', { name: 'Changes of signin/limiter.go' })
  await expect(diff).toContainText('attempts map[string]*ring')

  // A comment, by keyboard alone, kept over a reload of the page.
  const line = diff.getByRole('button', { name: 'Comment on line 5', exact: true })
  await line.focus()
  await page.keyboard.press('Enter')
  await page.keyboard.type('This map grows without bound.')
  await page.keyboard.press('Control+Enter')
  await expect(panel.getByText('1 comment, not sent')).toBeVisible()
  await expect(line).toBeFocused()
  await expectAccessible(page, 'the panel of changes', '.work')
  await page.setViewportSize({ width: 1440, height: 900 })

  // What was viewed counts until it changes.
  await panel.getByRole('checkbox', { name: 'Viewed: signin/ring.go' }).check()
  await expect(panel.getByText('1 of 2 viewed')).toBeVisible()
  await panel.getByRole('button', { name: 'signin/ring.go' }).click()
  await expect(panel.getByRole('group', { name: 'Changes of signin/ring.go' })).toContainText('type ring struct{}')
  writeFileSync(join(scripted, 'signin/ring.go'), 'package signin\n\ntype ring struct{ n int }\n')

  // The file is not what was shown: nothing is discarded.
  await panel.getByRole('button', { name: 'More' }).last().click()
  await page.getByRole('button', { name: 'Discard changes…' }).click()
  const dialog = page.getByRole('dialog')
  await expectAccessible(page, 'before changes are discarded', 'dialog[open]')
  await page.setViewportSize({ width: 1440, height: 900 })
  await dialog.getByRole('button', { name: 'Discard' }).click()
  await expect(dialog.getByRole('alert')).toContainText('This file changed since you opened it')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await panel.getByRole('button', { name: 'More' }).first().click()
  await page.getByRole('button', { name: 'Refresh' }).click()
  await expect(panel.getByText('0 of 2 viewed')).toBeVisible()
  await expect(panel.getByRole('group', { name: 'Changes of signin/ring.go' })).toContainText('n int')
  await panel.getByRole('button', { name: 'More' }).last().click()
  await page.getByRole('button', { name: 'Discard changes…' }).click()
  await dialog.getByRole('button', { name: 'Discard' }).click()
  await expect(panel.getByRole('listitem')).toHaveCount(1)
  expect(existsSync(join(scripted, 'signin/ring.go'))).toBe(false)

  // All comments go to Claude as one message.
  await panel.getByRole('button', { name: 'Send to Claude' }).click()
  await expect(page.getByText('signin/limiter.go, Line 5:', { exact: true }).last()).toBeVisible()
  await expect(page.getByText('This map grows without bound.', { exact: true }).last()).toBeVisible()
  await expect(panel.getByText('not sent')).toHaveCount(0)

  await panel.getByRole('button', { name: 'More' }).first().click()
  await page.getByRole('button', { name: 'Commit…' }).click()
  await dialog.getByRole('textbox', { name: 'Commit message' }).fill('Let the limiter slide')
  await expectAccessible(page, 'before changes are committed', 'dialog[open]')
  await page.setViewportSize({ width: 1440, height: 900 })
  await dialog.getByRole('button', { name: 'Commit 1 file' }).click()
  await expect(panel.getByText('No changes')).toBeVisible()
  // Both are on record, and what was discarded can be had back.
  interface Recorded {
    paths: string[]
    object?: string
    message?: string
    by: { name: string }
  }
  const record = async (what: string) =>
    (await rest.get<{ entries: { entry: Recorded }[] }>(`/api/audit?newest=true&what=${what}`)).entries.map(
      (e) => e.entry,
    )
  git('config', '--unset', 'core.fsmonitor')
  const [discarded] = await record('changes_discarded')
  expect(discarded).toMatchObject({ paths: ['signin/ring.go'], by: { name: 'admin' } })
  expect(git('cat-file', '-p', discarded!.object!).toString()).toContain('n int')
  expect((await record('changes_committed'))[0]).toMatchObject({
    paths: ['signin/limiter.go'],
    message: 'Let the limiter slide',
  })
  expect(git('log', '-1', '--format=%an %s').toString().trim()).toBe('Mara Let the limiter slide')
  await panel.getByRole('combobox', { name: 'Compare with' }).selectOption('main')
  await expect(panel.getByRole('listitem')).toHaveCount(1)
  expect(existsSync(join(scripted, 'ran'))).toBe(false)

  await panel.getByRole('tab', { name: 'Changes' }).focus()
  await page.keyboard.press('Escape')
  await expect(panel).toBeHidden()
})

// What Claude did in a turn, with its edits and with commands.
test('changes are compared with the state before the last turn @newest', async ({ page, folder, rest }) => {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: folder, env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' } })
  const file = join(folder, 'greet.txt')
  const session = await rest.start(prompt('Greet.', [write(file, 'Hello you\n')], [text('I have greeted.')]), {
    cwd: folder,
    permission_mode: 'acceptEdits',
  })
  await App.openSession(page, session)
  await expect(page.getByText('I have greeted.', { exact: true })).toBeVisible()
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.getByRole('button', { name: 'Changes and files' }).click()
  const panel = page.getByRole('complementary', { name: 'Session panel' })
  // Without a repository: the checkpoint of Claude Code.
  await expect(panel.getByText('Since your last message')).toBeVisible()
  await expect(panel.getByRole('listitem')).toHaveText('greet.txtNew')
  await expect(panel.getByRole('group', { name: 'Changes of greet.txt' })).toContainText('Hello you')

  git('init', '-q')
  writeFileSync(join(folder, 'mine.txt'), 'from before\n')
  const send = async (words: string, done: string) => {
    await page.getByRole('textbox', { name: 'Message' }).fill(words)
    await page.keyboard.press('Control+Enter')
    await expect(page.getByText(done, { exact: true })).toBeVisible()
  }
  await send(
    prompt(
      'Greet them in another way.',
      [write(file, 'Hello world\n')],
      [bash('rm mine.txt && touch made.txt')],
      [text('I was brief.')],
    ),
    'I was brief.',
  )
  await panel.getByRole('combobox', { name: 'Compare with' }).selectOption('Before the last turn')
  await expect(panel.getByRole('listitem')).toHaveText([
    /^greet\.txt\+1−1$/,
    /^made\.txtNew/,
    /^mine\.txtDeleted\+0−1$/,
  ])
  const diff = panel.getByRole('group', { name: 'Changes of greet.txt' })
  await expect(diff.locator('.del')).toContainText('Hello you')
  await expect(diff.locator('.add')).toContainText('Hello world')
  await expect(panel.getByText('Includes changes made by commands')).toBeVisible()
  await panel.getByRole('checkbox', { name: 'Viewed: greet.txt' }).check()
  await expect(panel.getByText('1 of 3 viewed')).toBeVisible()
  await diff.getByRole('button', { name: 'Comment on line 1', exact: true }).press('Enter')
  await page.keyboard.type('Whole world?')
  await page.keyboard.press('Control+Enter')
  await expect(panel.getByText('1 comment, not sent')).toBeVisible()
  await expectAccessible(page, 'what a turn has changed', '.work')
})

test('files are found, read and mentioned, on a desktop and on a phone', async ({ page, server, scripted }) => {
  await App.newSession(page, server.url, scripted, play('Say.', [text('Done.')], [text('Noted.')]))
  await expect(page.getByText('Done.', { exact: true })).toBeVisible()
  repository(scripted)
  writeFileSync(
    join(scripted, 'dot.png'),
    Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    ),
  )
  await page.getByRole('button', { name: 'Changes and files' }).click()
  const panel = page.getByRole('complementary', { name: 'Session panel' })
  await panel.getByRole('tab', { name: 'Changes' }).press('ArrowRight')
  await expect(panel.getByRole('tab', { name: 'Files' })).toBeFocused()
  await panel.getByRole('button', { name: 'signin' }).click()
  await expect(panel.getByRole('button', { name: 'ring.go' })).toContainText('New+3−0')
  await panel.getByRole('button', { name: 'ring.go' }).click()
  await expect(panel.getByText('3 lines · read only')).toBeVisible()
  await expect(panel.getByRole('group', { name: 'signin/ring.go' })).toContainText('type ring struct{}')
  await panel.getByRole('button', { name: 'Mention' }).click()
  await expect(page.getByRole('textbox', { name: 'Message to Claude' })).toHaveValue('@signin/ring.go ')
  await expectAccessible(page, 'the panel of files', '.work')
  await page.setViewportSize({ width: 1440, height: 900 })

  await panel.getByRole('searchbox', { name: 'Go to file' }).fill('readme')
  await panel.getByRole('button', { name: 'README.md' }).click()
  await expect(panel.getByRole('heading', { name: 'The shop' })).toBeVisible()
  await panel.getByRole('button', { name: 'Source' }).click()
  await expect(panel.getByText('# The shop')).toBeVisible()
  await panel.getByRole('searchbox', { name: 'Go to file' }).fill('dot')
  await panel.getByRole('button', { name: 'dot.png' }).click()
  await expect(panel.getByRole('img', { name: 'dot.png' })).toBeVisible()

  // On a phone it is the whole screen.
  await page.setViewportSize({ width: 390, height: 844 })
  const box = await panel.boundingBox()
  expect([box?.x, box?.width, box?.height]).toEqual([0, 390, 844])

  // Without a repository the files are there all the same.
  rmSync(join(scripted, '.git'), { recursive: true })
  await panel.getByRole('tab', { name: 'Changes' }).click()
  await expect(panel.getByText('This folder has no Git repository')).toBeVisible()
  expect(readFileSync(join(scripted, 'README.md'), 'utf8')).toContain('shop')
  await panel.getByRole('button', { name: 'Close panel' }).click()
  await expect(panel).toBeHidden()
})

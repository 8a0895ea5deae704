// A session in a worktree of its own: from the form to what becomes of it.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expectAccessible } from '../a11y.ts'
import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { play, text } from '../script.ts'

const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', args, {
    cwd,
    env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
  })
    .toString()
    .trim()

function repository(folder: string) {
  git(folder, 'init', '-q', '-b', 'main')
  git(folder, 'config', 'user.name', 'Mara')
  git(folder, 'config', 'user.email', 'mara@example.org')
  writeFileSync(join(folder, 'cart.txt'), 'one\n')
  writeFileSync(join(folder, '.gitignore'), '.env\n')
  git(folder, 'add', '-A')
  git(folder, 'commit', '-q', '-m', 'first')
  git(folder, 'branch', 'taken')
}

test('a session works in a worktree, which is merged and removed', async ({ page, server, scripted, rest }, info) => {
  // A branch that exists; and what the page asks of a folder that is gone.
  // Where the removal has just renamed it, git fails.
  for (const description of ['400 (Bad Request)', '422 (Unprocessable Entity)'])
    info.annotations.push({ type: 'allowed on the console', description })
  repository(scripted)
  await page.setViewportSize({ width: 1440, height: 900 })
  await App.home(page, server.url)
  await page.getByRole('button', { name: 'New session' }).first().click()
  const form = page.getByRole('dialog', { name: 'New session' })
  await form.getByRole('combobox', { name: 'Folder' }).fill(scripted)
  await expect(form.getByText('main · clean')).toBeVisible()
  const prompt = form.getByRole('textbox', { name: /What should Claude do/ })
  await prompt.pressSequentially('Round the cart total in @car')
  await form.getByRole('option', { name: 'cart.txt' }).click()
  await expect(prompt).toHaveValue('Round the cart total in @cart.txt ')
  await form.getByRole('switch', { name: /Work in a separate copy/ }).check()
  const branch = form.getByRole('textbox', { name: 'New branch' })
  await expect(branch).toHaveValue('round-cart-total-cart')
  await expect(form.getByRole('combobox', { name: 'Base branch' })).toHaveValue('main')

  // What is wrong is said at its field.
  await prompt.fill(play('Say.', [text('Done.')], [text('Noted.')]))
  await branch.fill('taken')
  await form.getByRole('button', { name: 'Start session' }).click()
  await expect(form.getByText('There is already a branch taken.')).toBeVisible()
  await expect(branch).toBeFocused()
  await branch.fill('cart/total')
  await form.getByRole('button', { name: 'Start session' }).click()
  await expect(page.getByText('Done.', { exact: true })).toBeVisible()
  const tree = join(scripted, '.worktrees/cart-total')
  await expect(page.getByText('cart/total · clean')).toBeVisible()
  expect(git(tree, 'branch', '--show-current')).toBe('cart/total')

  // What Claude has done there.
  writeFileSync(join(tree, 'cart.txt'), 'two\n')
  writeFileSync(join(tree, '.env'), 'KEY=1\n')
  await page.getByRole('button', { name: 'Changes and files' }).click()
  const panel = page.getByRole('complementary', { name: 'Session panel' })
  await expect(panel.getByText('Worktree from main · no new commits · 1 changed')).toBeVisible()
  await panel.getByRole('button', { name: 'Merge or remove…' }).click()
  const dialog = page.getByRole('dialog', { name: /worktree cart\/total/i })
  await expect(dialog.getByText('Commit or discard the changes first.')).toBeVisible()
  await dialog.getByRole('button', { name: 'Keep' }).click()
  git(tree, 'commit', '-q', '-am', 'second')
  await panel.getByRole('button', { name: 'Merge or remove…' }).click()
  await expect(dialog.getByText('1 commit ahead of main')).toBeVisible()
  await expectAccessible(page, 'what becomes of a worktree', 'dialog[open]')
  await page.setViewportSize({ width: 1440, height: 900 })
  await dialog.getByRole('button', { name: 'Merge into main' }).click()
  await expect(dialog.getByText('main has all commits')).toBeVisible()
  expect(readFileSync(join(scripted, 'cart.txt'), 'utf8')).toBe('two\n')

  // It is not taken away under Claude, and what is lost is named.
  await dialog.getByRole('button', { name: 'Remove…' }).click()
  await expect(dialog.getByText('Ignored files are permanently deleted: .env')).toBeVisible()
  await expect(dialog.getByText('Branch cart/total is deleted.')).toBeVisible()
  await expect(dialog.getByRole('button', { name: 'Remove worktree' })).toBeDisabled()
  const id = page.url().split('/').at(-1)!
  await rest.post(`/api/sessions/${id}/kill`, {})
  await dialog.getByRole('button', { name: 'Remove worktree' }).click()
  await expect(dialog).toBeHidden()
  expect(existsSync(tree)).toBe(false)
  expect(git(scripted, 'branch', '--list', 'cart/total')).toBe('')
  const { entries } = await rest.get<{ entries: { entry: { what: string; paths: string[] } }[] }>(
    '/api/audit?newest=true&what=worktree_removed',
  )
  expect(entries[0]!.entry.paths).toEqual(['.env'])
})

test('a worktree that conflicts is not merged, and says what to type @nightly', async ({ page, server, scripted }) => {
  repository(scripted)
  await page.setViewportSize({ width: 1440, height: 900 })
  await App.home(page, server.url)
  await page.getByRole('button', { name: 'New session' }).first().click()
  const form = page.getByRole('dialog', { name: 'New session' })
  await form.getByRole('combobox', { name: 'Folder' }).fill(scripted)
  await form
    .getByRole('textbox', { name: /What should Claude do/ })
    .fill(play('Say.', [text('Done.')], [text('Noted.')]))
  await form.getByRole('switch', { name: /Work in a separate copy/ }).check()
  await form.getByRole('textbox', { name: 'New branch' }).fill('cart/total')
  await form.getByRole('button', { name: 'Start session' }).click()
  await expect(page.getByText('Done.', { exact: true })).toBeVisible()
  const tree = join(scripted, '.worktrees/cart-total')
  writeFileSync(join(tree, 'cart.txt'), 'theirs\n')
  git(tree, 'commit', '-q', '-am', 'theirs')
  writeFileSync(join(scripted, 'cart.txt'), 'ours\n')
  git(scripted, 'commit', '-q', '-am', 'ours')

  await page.getByRole('button', { name: 'Changes and files' }).click()
  const panel = page.getByRole('complementary', { name: 'Session panel' })
  await expect(panel.getByText('conflicts', { exact: true })).toBeVisible()
  await panel.getByRole('button', { name: 'Merge or remove…' }).click()
  const dialog = page.getByRole('dialog', { name: /worktree cart\/total/i })
  await expect(dialog.getByText('Conflicts with main.')).toBeVisible()
  await expect(dialog.getByText('cart.txt')).toBeVisible()
  await expect(dialog.getByText(/git -C .*cart-total.* merge .*main/)).toBeVisible()
  await expect(dialog.getByRole('button', { name: 'Merge into main' })).toHaveCount(0)
  await expectAccessible(page, 'a worktree that conflicts', 'dialog[open]')

  // What the person resolves there can be merged.
  expect(() => git(tree, 'merge', 'main')).toThrow()
  writeFileSync(join(tree, 'cart.txt'), 'both\n')
  git(tree, 'commit', '-q', '-am', 'both')
  await dialog.getByRole('button', { name: 'Keep' }).click()
  await panel.getByRole('button', { name: 'Merge or remove…' }).click()
  await dialog.getByRole('button', { name: 'Merge into main' }).click()
  await expect(dialog.getByText('main has all commits')).toBeVisible()
  expect(readFileSync(join(scripted, 'cart.txt'), 'utf8')).toBe('both\n')
})

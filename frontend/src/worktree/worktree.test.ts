import { expect, test } from 'vitest'
import { proposeBranch, quoted } from './branch'
import { withoutWorktree, worktreeIn } from './folder'

test('a branch is named after the task', () => {
  expect(proposeBranch('Round the cart total once, at the end', ['main'])).toBe('round-cart-total-end')
  expect(proposeBranch('Größe für @src/cart.ts ändern', [])).toBe('grosse-src-cart-ts')
  expect(proposeBranch('', ['session', 'session-2'])).toBe('session-3')
  expect(proposeBranch('Fix limiter', ['fix/limiter'])).toBe('fix-limiter-2')
  expect(proposeBranch('x'.repeat(80), [])).toHaveLength(40)
})

test('a command can be pasted into a shell', () => {
  expect(quoted('/srv/repo-1')).toBe('/srv/repo-1')
  expect(quoted("a b'; rm -rf ~")).toBe(String.raw`'a b'\''; rm -rf ~'`)
})

test('a worktree belongs to the folder of its repository', () => {
  expect(worktreeIn('/srv/shop/.worktrees/fix-limiter/api')).toBe('fix-limiter')
  expect(withoutWorktree('/srv/shop/.worktrees/fix-limiter/api')).toBe('/srv/shop/api')
  expect(withoutWorktree('/srv/shop/.worktrees/fix-limiter')).toBe('/srv/shop')
  expect(worktreeIn('/srv/.worktrees')).toBe('')
})

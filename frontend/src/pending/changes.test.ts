// @vitest-environment node
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { changesOf, wordDiffOf } from './changes'

const side = (words: ReturnType<typeof wordDiffOf>['words'], not: 'add' | 'del') =>
  words
    .filter((w) => w.kind !== not)
    .map((w) => w.text)
    .join('')

test('shows the words that differ', () => {
  expect(wordDiffOf('rm -rf build', 'rm -rf dist').words).toEqual([
    { kind: 'same', text: 'rm -rf ' },
    { kind: 'del', text: 'build' },
    { kind: 'add', text: 'dist' },
  ])
})

test('loses no character of either text', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'b', ' ', '\n', '\t', '-', '\u202e', '\u00a0', 'é', '.'),
    maxLength: 60,
  })
  fc.assert(
    fc.property(text, text, (before, after) => {
      const { words } = wordDiffOf(before, after)
      expect(side(words, 'add')).toBe(before)
      expect(side(words, 'del')).toBe(after)
    }),
  )
})

test('replaces texts that differ too much, and says so', () => {
  const text = (by: number) => Array.from({ length: 3_000 }, (_, i) => 'abcdefgh'[(i * i * by) % 8]).join(' ') + ' '
  const { words, coarse } = wordDiffOf(text(3), text(5) + 'x')
  expect(coarse).toBe(true)
  expect(side(words, 'add')).toBe(text(3))
  expect(side(words, 'del')).toBe(text(5) + 'x')
})

test('shows only fields that differ, including removed ones', () => {
  const changes = changesOf({ command: 'ls', timeout: 5, old: true }, { command: 'ls', timeout: 6 })
  expect(changes.map((c) => c.field)).toEqual(['timeout', 'old'])
  expect(changes[0]!.words).toEqual([
    { kind: 'del', text: '5' },
    { kind: 'add', text: '6' },
  ])
  expect(changes[1]!.words).toEqual([{ kind: 'del', text: 'true' }])
})

test('shows a field whose name every object knows', () => {
  expect(changesOf({}, JSON.parse('{"__proto__":{}}')).map((c) => c.field)).toEqual(['__proto__'])
})

import { expect, test } from 'vitest'
import { mentionedIn } from './mentioned'

test.each([
  ['Look at @a.go and @"my b.go", then', ['@a.go', '@"my b.go"']],
  ['@a\n@b', ['@a', '@b']],
  ['/ship now', ['/ship']],
  ['/ship:it', ['/ship:it']],
  ['Then /ship', []],
  ['/usr/bin is a folder', []],
  ['mail a@b.org or @', []],
  ['@"never closed', []],
])('%s names %j', (text, want) => {
  const parts = mentionedIn(text)
  expect(parts.filter((p) => p.named).map((p) => p.text)).toEqual(want)
  expect(parts.map((p) => p.text).join('')).toBe(text)
})

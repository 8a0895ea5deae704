import { expect, test } from 'vitest'
import { diffOf } from './diff'

test('a change with what is around it', () => {
  expect(diffOf('a\nb\nc', 'a\nB\nc')).toEqual({ skipped: 0,
    added: 1, removed: 1,
    lines: [
      { kind: 'same', text: 'a' }, { kind: 'del', text: 'b' }, { kind: 'add', text: 'B' }, { kind: 'same', text: 'c' },
    ],
  })
})

test('what is far from a change is left out, and the gap is shown', () => {
  const lines = Array.from({ length: 40 }, (_, i) => `line ${i}`)
  const changed = lines.map((l, i) => (i === 2 || i === 35 ? l + '!' : l))
  const diff = diffOf(lines.join('\n'), changed.join('\n'))
  expect(diff.lines.filter((l) => l.kind === 'gap')).toHaveLength(1)
  expect(diff).toMatchObject({ added: 2, removed: 2 })
})

test('an insertion and a removal of everything', () => {
  expect(diffOf('', 'a\nb\n')).toMatchObject({ added: 2, removed: 0 })
  expect(diffOf('a\nb', '')).toMatchObject({ added: 0, removed: 2 })
})

test('lines that look like a patch are lines', () => {
  expect(diffOf('-- a\n', '++ b\n').lines).toEqual([{ kind: 'del', text: '-- a' }, { kind: 'add', text: '++ b' }])
})

// @vitest-environment node
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { diffOf, tailOf } from './diff'

test('shows a change with its context', () => {
  expect(diffOf('a\nb\nc', 'a\nB\nc')).toEqual({
    coarse: false,
    added: 1,
    removed: 1,
    lines: [
      { kind: 'same', text: 'a' },
      { kind: 'del', text: 'b' },
      { kind: 'add', text: 'B' },
      { kind: 'same', text: 'c' },
    ],
  })
})

test('omits lines far from a change and shows the gap', () => {
  const lines = Array.from({ length: 40 }, (_, i) => `line ${i}`)
  const changed = lines.map((l, i) => (i === 2 || i === 35 ? l + '!' : l))
  const diff = diffOf(lines.join('\n'), changed.join('\n'))
  expect(diff.lines.filter((l) => l.kind === 'gap')).toHaveLength(1)
  expect(diff).toMatchObject({ added: 2, removed: 2 })
})

test('shows an insertion and a removal of everything', () => {
  expect(diffOf('', 'a\nb\n')).toMatchObject({ added: 2, removed: 0 })
  expect(diffOf('a\nb', '')).toMatchObject({ added: 0, removed: 2 })
})

test('treats lines that look like a patch as lines', () => {
  expect(diffOf('-- a\n', '++ b\n').lines).toEqual([
    { kind: 'del', text: '-- a' },
    { kind: 'add', text: '++ b' },
  ])
})

test('counts omitted lines at both ends, and leaves out no single line', () => {
  const text = (n: number, changed: number) =>
    Array.from({ length: n }, (_, i) => (i === changed ? 'changed' : `line ${i}`)).join('\n')
  const gaps = (n: number, changed: number) =>
    diffOf(text(n, -1), text(n, changed)).lines.map((l) => l.skipped ?? l.kind)
  expect(gaps(20, 10)).toEqual([7, 'same', 'same', 'same', 'del', 'add', 'same', 'same', 'same', 6])
  expect(gaps(9, 4)).toEqual(['same', 'same', 'same', 'same', 'del', 'add', 'same', 'same', 'same', 'same'])
  expect(tailOf(diffOf(text(9, -1), text(9, 4)).lines)).toBe(4)
})

test('contains both texts, whatever is omitted', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd', ''), { maxLength: 30 }).map((all) => all.join('\n'))
  fc.assert(
    fc.property(text, text, (before, after) => {
      const { lines, added, removed } = diffOf(before, after)
      fc.pre(before !== after)
      const linesOf = (t: string): string[] => t.match(/[^\n]*\n|[^\n]+$/g) ?? []
      const [was, is] = [linesOf(before), linesOf(after)]
      const side = (not: 'add' | 'del', all: string[]) => {
        let at = 0
        for (const l of lines.filter((one) => one.kind !== not)) {
          if (l.kind === 'gap') at += l.skipped!
          else if (all[at++]?.replace('\n', '') !== l.text) return `${l.text} is not line ${at}`
        }
        return at === all.length ? '' : `${all.length - at} lines are gone`
      }
      expect([side('add', was), side('del', is)]).toEqual(['', ''])
      expect(added - removed).toBe(is.length - was.length)
    }),
    { numRuns: 500 },
  )
})

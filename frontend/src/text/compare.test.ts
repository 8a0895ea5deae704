// @vitest-environment node
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { wordDiffOf } from '@/pending/changes'
import { compare, MAX_STEPS } from './compare'
import { diffOf } from './diff'

afterEach(() => void vi.restoreAllMocks())

/** How much two sequences have in common at most, the slow and sure way. */
function longest(a: readonly number[], b: readonly number[]): number {
  let row = Array.from({ length: b.length + 1 }, () => 0)
  for (const x of a) {
    const next = [0]
    b.forEach((y, j) => next.push(x === y ? row[j]! + 1 : Math.max(row[j + 1]!, next[j]!)))
    row = next
  }
  return row.at(-1)!
}

const sequence = fc.array(fc.nat(6), { maxLength: 60 })

test('finds the longest common part', () => {
  fc.assert(
    fc.property(sequence, sequence, (a, b) => {
      const { same, coarse } = compare(a, b)
      expect(coarse).toBe(false)
      expect(same).toHaveLength(longest(a, b))
    }),
    { numRuns: 500 },
  )
})

test('reports equal parts that are equal and in order, with however few steps', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(40), { maxLength: 80 }),
      fc.array(fc.nat(40), { maxLength: 80 }),
      fc.nat(300),
      (a, b, steps) => {
        let [i, j] = [-1, -1]
        for (const [x, y] of compare(a, b, steps).same) {
          expect(x).toBeGreaterThan(i)
          expect(y).toBeGreaterThan(j)
          expect(a[x]).toBe(b[y])
          ;[i, j] = [x, y]
        }
      },
    ),
    { numRuns: 500 },
  )
})

const line = (i: number) => `line ${i} of the file`
const text = (n: number, of: (i: number) => string) => Array.from({ length: n }, (_, i) => of(i) + '\n').join('')

test('counts 500 lines of which a third changed correctly', () => {
  const before = text(500, line)
  for (const changed of [
    (i: number) => i % 3 === 0,
    (i: number) => (i * 7919) % 500 < 167,
    (i: number) => i > 100 && i < 268,
  ]) {
    const n = Array.from({ length: 500 }, (_, i) => i).filter(changed).length
    expect(
      diffOf(
        before,
        text(500, (i) => (changed(i) ? `other ${i}` : line(i))),
      ),
    ).toMatchObject({ added: n, removed: n, coarse: false })
  }
  // Also when each changed line is one that stands elsewhere.
  const of = (i: number) => (i % 3 === 0 ? (i * 31) % 500 : i)
  const same = longest(
    Array.from({ length: 500 }, (_, i) => i),
    Array.from({ length: 500 }, (_, i) => of(i)),
  )
  expect(
    diffOf(
      before,
      text(500, (i) => line(of(i))),
    ),
  ).toMatchObject({ added: 500 - same, removed: 500 - same, coarse: false })
})

test('does not depend on time', () => {
  const [before, after] = [text(500, line), text(500, (i) => line(i % 3 === 0 ? (i * 31) % 500 : i))]
  const [lines, words] = [diffOf(before, after), wordDiffOf(before, after)]
  let now = 0
  vi.spyOn(Date, 'now').mockImplementation(() => (now += 60_000))
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 60_000))
  expect(diffOf(before, after)).toEqual(lines)
  expect(wordDiffOf(before, after)).toEqual(words)
})

// Between each two lines that are on both sides, lines that are in disorder.
const scrambled = (n: number, by: number) => Array.from({ length: n }, (_, i) => (i * by) % n)

test.each([
  [
    '10,000 different lines',
    Array.from({ length: 10_000 }, (_, i) => i),
    Array.from({ length: 10_000 }, (_, i) => 20_000 + i),
  ],
  [
    'the same line 2,000 times, and fewer',
    Array.from({ length: 2_000 }, () => 1),
    Array.from({ length: 1_200 }, () => 1),
  ],
  [
    'two lines in turns, otherwise in turns',
    Array.from({ length: 10_000 }, (_, i) => i % 2),
    Array.from({ length: 10_000 }, (_, i) => (i % 3 === 0 ? 1 : 0)),
  ],
  ['10,000 lines in disorder', Array.from({ length: 10_000 }, (_, i) => i), scrambled(10_000, 7_919)],
  [
    '10,000 lines, turned round',
    Array.from({ length: 10_000 }, (_, i) => i),
    Array.from({ length: 10_000 }, (_, i) => 9_999 - i),
  ],
  [
    '100,000 lines of few kinds in disorder',
    scrambled(100_000, 7_919).map((i) => i % 97),
    scrambled(100_000, 3_001).map((i) => i % 89),
  ],
])('compares %s in a bounded number of steps', (_, a, b) => {
  // Each of the cuts reads what is left once, and has the steps of one comparison.
  expect(compare(a, b).steps).toBeLessThan(4 * (2 * (a.length + b.length) + MAX_STEPS) + a.length + b.length)
})

test('needs steps beyond the bound only in proportion to the number of lines', () => {
  const stepsOf = (n: number) =>
    compare(
      Array.from({ length: n }, (_, i) => i),
      scrambled(n, 7_919),
    ).steps -
    4 * MAX_STEPS
  expect(stepsOf(40_000)).toBeLessThan(4 * 2 * 80_000)
})

test('says when texts differ too much, and then compares only between equal ends and unique lines', () => {
  const middle = (by: number) => Array.from({ length: 3_000 }, (_, i) => `x ${(i * by) % 61}`)
  const before = ['head', ...middle(7), 'anchor', 'a', 'tail'].join('\n')
  const after = ['head', ...middle(11), 'anchor', 'b', 'tail'].join('\n')
  const diff = diffOf(before, after)
  expect(diff.coarse).toBe(true)
  const unchanged = diff.lines.filter((l) => l.kind === 'same').flatMap((l) => l.text.split('\n'))
  expect(unchanged).toEqual(expect.arrayContaining(['head', 'anchor', 'tail']))
  expect(diff.lines.slice(-4)).toEqual([
    { kind: 'same', text: 'anchor' },
    { kind: 'del', text: 'a' },
    { kind: 'add', text: 'b' },
    { kind: 'same', text: 'tail' },
  ])
  expect(wordDiffOf(before, after).coarse).toBe(true)
})

import { flushPromises, mount } from '@vue/test-utils'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { wordDiffOf } from './changes'
import { placesOfLines, placesOfText, placesOfWords } from './colours'
import type { Place } from './painting'
import { diffOf } from '@/text/diff'
import DiffText from './DiffText.vue'

const text = fc
  .array(fc.constantFrom('a', 'b', 'if x {', '', '\t', 'é𝄞', '\r', '}'), { maxLength: 12 })
  .chain((lines) => fc.constantFrom('', '\n').map((end) => lines.join('\n') + end))

describe('each displayed piece is located in the compared texts', () => {
  const misplaced = (before: string, after: string, places: (Place | null)[], texts: string[]) =>
    texts.filter(
      (text, i) =>
        places[i] === undefined ||
        (places[i] && !(places[i].side === 'before' ? before : after).startsWith(text, places[i].from)),
    )

  test('lines', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const diff = diffOf(before, after)
        const { lines } = diff
        const places = placesOfLines(diff.lines, before, after)
        expect(
          misplaced(
            before,
            after,
            places,
            lines.map((l) => l.text),
          ),
        ).toEqual([])
        expect(places.map((p) => p?.side ?? 'gap')).toEqual(
          lines.map((l) => ({ del: 'before', gap: 'gap' })[l.kind as string] ?? 'after'),
        )
      }),
      { numRuns: 300 },
    )
  })

  test('lines with gaps between them, and several as one', () => {
    const long = Array.from({ length: 9_000 }, (_, i) => `line ${i}`)
    const other = long.map((l, i) => (i === 20 || i === 8_000 ? l + '!' : l))
    const before = long.join('\n')
    for (const after of [other.join('\n'), other.map((l) => l + '?').join('\n')]) {
      const diff = diffOf(before, after)
      expect(
        misplaced(
          before,
          after,
          placesOfLines(diff.lines, before, after),
          diff.lines.map((l) => l.text),
        ),
      ).toEqual([])
    }
  })

  test('words', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const { words } = wordDiffOf(before, after)
        expect(
          misplaced(
            before,
            after,
            placesOfWords(words),
            words.map((w) => w.text),
          ),
        ).toEqual([])
      }),
      { numRuns: 300 },
    )
  })

  test('a text', () => {
    expect(misplaced('', 'a\n\nbc', placesOfText(['a', '', 'bc']), ['a', '', 'bc'])).toEqual([])
  })
})

const page = vi.hoisted(() => ({ registry: new Map<string, Set<StaticRange>>(), told: [] as (() => void)[] }))
vi.mock('@/text/highlight', () => ({
  paints: () => true,
  languageOf: (path: string) => path.split('.').at(-1),
  highlightOf: (name: string) => page.registry.get(name) ?? page.registry.set(name, new Set()).get(name)!,
  // All of it is one word of the language.
  spansOf: (code: string) =>
    new Promise<Uint32Array>((done) => page.told.push(() => done(Uint32Array.from([0, code.length, 3])))),
}))

describe('highlighting', { timeout: 60_000 }, () => {
  beforeEach(() => {
    page.registry.clear()
    page.told.length = 0
    vi.stubGlobal('StaticRange', function (this: object, init: object) {
      Object.assign(this, init)
    })
  })
  afterEach(() => void vi.unstubAllGlobals())

  const painted = (name: string) =>
    [...(page.registry.get(name) ?? [])].map((r) => (r.startContainer as Text).data.slice(r.startOffset, r.endOffset))
  const asked = () => vi.waitFor(() => expect(page.told.length).toBe(2), { timeout: 30_000 })
  const tell = async () => {
    for (const one of page.told.splice(0)) one()
    await flushPromises()
  }
  const show = (props: { before: string; after: string; path: string }) =>
    mount(DiffText, { props, attachTo: document.body })
  const left = () => [...page.registry.values()].reduce((n, ranges) => n + ranges.size, 0)

  test('a diff is shown plain and then highlighted, without changing an element or a word', async () => {
    const it = show({ before: 'one\ntwo old\u202e\nthree', after: 'one\ntwo new\u202e\nthree', path: '/w/a.ts' })
    const plain = it.element.innerHTML
    await asked()
    await tell()
    expect(painted('code-keyword').filter((p) => p.trim())).toEqual(['one', 'two old', 'two new', 'three'])
    expect(painted('word-del')).toEqual(['old'])
    expect(painted('word-add')).toEqual(['new'])
    expect(it.element.innerHTML).toBe(plain)
    it.unmount()
    expect(left()).toBe(0)
  })

  test('of a change with more lines than before, those that are alike are compared', async () => {
    const it = show({
      before: 'sum()\nreturn round(sum)\nend',
      after: 'sum()\nconst cents = 100\nreturn round(cents)\nend',
      path: '/w/a.txt',
    })
    await vi.waitFor(() => expect(painted('word-del')).toEqual(['sum']))
    expect(painted('word-add')).toEqual(['cents'])
    it.unmount()
  })

  test('large texts stay plain, and no worker is asked', async () => {
    const it = show({ before: 'x\n'.repeat(30_000), after: 'y\n'.repeat(30_000), path: '/w/a.ts' })
    await import('./paint')
    await flushPromises()
    expect(page.told).toEqual([])
    expect(left()).toBe(0)
    it.unmount()
  })

  test('colors that arrive after the diff is gone change nothing', async () => {
    const it = show({ before: 'a', after: 'b', path: '/w/a.ts' })
    await asked()
    it.unmount()
    await tell()
    expect(left()).toBe(0)
  })
})

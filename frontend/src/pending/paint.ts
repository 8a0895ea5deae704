import { highlightOf, languageOf, paints, spansOf } from '@/text/highlight'
import { KINDS, type Spans } from '@/text/kinds'
import { wordDiffOf } from './changes'
import type { Painting, Place } from './painting'
import type { DiffLine } from '@/text/diff'

// Highlights a diff with CSS custom highlights over existing text, as text/highlight.ts does for a
// block of code.

// More ranges cost time in every frame in which the page changes.
const MAX_RANGES = 6_000
const MAX_PAIRS = 200
const MAX_LINE = 500 // characters; a longer one is data
const MAX_STEPS = 20_000 // for the comparison of one pair
// Lines with less in common count as different lines: marking most of their words would be useless.
const ALIKE = 0.4

interface Piece {
  text: Text
  from: number
}

/** Returns the text nodes of an element that shows source text from a position on. */
function piecesIn(el: Element, source: string, from: number): Piece[] {
  const out: Piece[] = []
  let at = from
  for (const child of el.childNodes) {
    if (child instanceof Text) {
      if (!source.startsWith(child.data, at)) break
      if (child.data !== '') out.push({ text: child, from: at })
      at += child.data.length
    } else if (child instanceof HTMLElement && child.tagName === 'BDI') {
      at += child.textContent.length
    } else if (child instanceof Element && child.classList.contains('hidden')) {
      // The name of an invisible character.
      at += String.fromCodePoint(source.codePointAt(at) ?? 0).length
    }
  }
  return out
}

function* rangesOf(pieces: readonly Piece[], from: number, to: number): Generator<StaticRange> {
  for (const p of pieces) {
    const start = Math.max(from - p.from, 0)
    const end = Math.min(to - p.from, p.text.data.length)
    if (start < end)
      yield new StaticRange({ startContainer: p.text, startOffset: start, endContainer: p.text, endOffset: end })
  }
}

/** Returns the index of the first span that ends after a position. */
function spanAt(spans: Spans, at: number): number {
  let low = 0
  let high = spans.length / 3
  while (low < high) {
    const middle = (low + high) >> 1
    if (spans[middle * 3 + 1]! > at) high = middle
    else low = middle + 1
  }
  return low * 3
}

const MAX_COMPARED = 64 // pairs of lines to compare in a change with unequal numbers of removed and added lines

/** Returns the share of words that two lines have in common. */
function likeness(a: string, b: string): number {
  const of: string[] = a.match(/\w+/g) ?? []
  const left: string[] = b.match(/\w+/g) ?? []
  const all = of.length + left.length
  const both = of.filter((word) => {
    const at = left.indexOf(word)
    if (at >= 0) left.splice(at, 1)
    return at >= 0
  }).length
  return all === 0 ? 0 : (2 * both) / all
}

/** Yields the most similar pairs, in order; each line is in at most one of them. */
function* alikeIn(del: readonly string[], add: readonly string[]): Generator<[number, number]> {
  const best = Array.from({ length: del.length + 1 }, () => Array<number>(add.length + 1).fill(0))
  const like = del.map((d) => add.map((a) => likeness(d, a)))
  for (let i = del.length - 1; i >= 0; i--) {
    for (let j = add.length - 1; j >= 0; j--)
      best[i]![j] = Math.max(best[i + 1]![j]!, best[i]![j + 1]!, best[i + 1]![j + 1]! + like[i]![j]!)
  }
  for (let i = 0, j = 0; i < del.length && j < add.length;) {
    if (best[i]![j] === best[i + 1]![j]) i++
    else if (best[i]![j] === best[i]![j + 1]) j++
    else yield [i++, j++]
  }
}

/** Yields the pairs of removed and added lines of a change. */
function* pairsIn(lines: readonly DiffLine[]): Generator<[number, number]> {
  for (let i = 0; i < lines.length;) {
    let del = i
    while (lines[del]?.kind === 'del') del++
    let add = del
    while (lines[add]?.kind === 'add') add++
    if (del > i && del - i === add - del) for (let j = i; j < del; j++) yield [j, del + j - i]
    else if ((del - i) * (add - del) <= MAX_COMPARED) {
      const text = (line: DiffLine) => line.text.slice(0, MAX_LINE)
      for (const [a, b] of alikeIn(lines.slice(i, del).map(text), lines.slice(del, add).map(text)))
        yield [i + a, del + b]
    }
    i = Math.max(add, i + 1)
  }
}

/** paint highlights the children of an element, and returns a function that removes the highlights. */
export function paint(el: Element, { path, before, after, places, lines }: Painting): () => void {
  const ranges: [Highlight, StaticRange][] = []
  let gone = false
  const clear = () => {
    gone = true
    for (const [highlight, range] of ranges.splice(0)) highlight.delete(range)
  }
  if (!paints()) return clear
  const add = (name: string, all: Iterable<StaticRange>) => {
    const highlight = highlightOf(name)
    for (const range of all) {
      highlight.add(range)
      ranges.push([highlight, range])
    }
  }
  const textOf = (p: Place) => (p.side === 'before' ? before : after)
  const pieces = places.map((p, i) => (p && el.children[i] ? piecesIn(el.children[i], textOf(p), p.from) : []))

  let pairs = 0
  for (const [i, j] of pairsIn(lines ?? [])) {
    const [was, is] = [lines![i]!.text, lines![j]!.text]
    if (++pairs > MAX_PAIRS) break
    if (was.length > MAX_LINE || is.length > MAX_LINE) continue
    const { words, coarse } = wordDiffOf(was, is, MAX_STEPS)
    if (coarse) continue
    const same = words.reduce((n, w) => (w.kind === 'same' ? n + w.text.trim().length : n), 0)
    if (2 * same < ALIKE * (was.trim().length + is.trim().length)) continue
    let [old, now] = [places[i]!.from, places[j]!.from]
    for (const w of words) {
      if (w.kind === 'del') add('word-del', rangesOf(pieces[i]!, old, old + w.text.length))
      if (w.kind === 'add') add('word-add', rangesOf(pieces[j]!, now, now + w.text.length))
      if (w.kind !== 'add') old += w.text.length
      if (w.kind !== 'del') now += w.text.length
    }
  }

  const lang = languageOf(path)
  if (lang !== '') void colour()
  return clear

  async function colour() {
    const [old, now] = await Promise.all([spansOf(before, lang), spansOf(after, lang)])
    if (gone || !paints()) return
    const found: [string, StaticRange][] = []
    for (const [i, p] of places.entries()) {
      const spans = p?.side === 'before' ? old : now
      const from = pieces[i]!.at(0)?.from
      const last = pieces[i]!.at(-1)
      if (!p || !spans || from === undefined || !last) continue
      const end = last.from + last.text.data.length
      for (let k = spanAt(spans, from); k < spans.length && spans[k]! < end; k += 3) {
        for (const range of rangesOf(pieces[i]!, spans[k]!, spans[k + 1]!))
          found.push(['code-' + KINDS[spans[k + 2]!]!, range])
      }
      if (found.length > MAX_RANGES) return
    }
    for (const [name, range] of found) add(name, [range])
  }
}

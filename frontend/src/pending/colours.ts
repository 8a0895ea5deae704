import { onBeforeUnmount, watch, type Ref } from 'vue'
import type { DiffLine } from '@/text/diff'
import type { Painting, Place } from './painting'

// The positions of the parts of a diff in the two compared texts. The texts are highlighted as a
// whole, because the language of a line can depend on all lines before it.

// Longer texts, in characters of both, are not highlighted: nobody reads so much on a card, and
// each highlighted part costs time in every frame.
const MAX_CHARS = 60_000

/** Returns the position at which each line of a text begins. */
function starts(text: string): number[] {
  const out = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) out.push(at + 1)
  return out
}

export function placesOfLines(lines: readonly DiffLine[], before: string, after: string): (Place | null)[] {
  const [old, now] = [starts(before), starts(after)]
  let was = 0
  let is = 0
  return lines.map((l) => {
    if (l.kind === 'gap') {
      was += l.skipped ?? 0
      is += l.skipped ?? 0
      return null
    }
    const place: Place =
      l.kind === 'del'
        ? { side: 'before', from: old[was] ?? before.length }
        : { side: 'after', from: now[is] ?? after.length }
    if (l.kind !== 'add') was += l.many ?? 1
    if (l.kind !== 'del') is += l.many ?? 1
    return place
  })
}

export function placesOfWords(words: readonly { kind: 'same' | 'add' | 'del'; text: string }[]): Place[] {
  let was = 0
  let is = 0
  return words.map(({ kind, text }) => {
    const place: Place = kind === 'del' ? { side: 'before', from: was } : { side: 'after', from: is }
    if (kind !== 'add') was += text.length
    if (kind !== 'del') is += text.length
    return place
  })
}

/** placesOfText returns the positions of the lines of one text. */
export function placesOfText(lines: readonly string[]): Place[] {
  let at = 0
  return lines.map((line) => {
    const place: Place = { side: 'after', from: at }
    at += line.length + 1
    return place
  })
}

// While a person types, highlighting waits for a pause.
const PAUSE_MS = 250

/**
 * useColours highlights the text of an element once the colors are computed. It changes no element,
 * no text and no height.
 */
export function useColours(host: Readonly<Ref<HTMLElement | null>>, painting: () => Painting | null): void {
  let clear: (() => void) | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let turn = 0
  const end = () => {
    turn++
    clearTimeout(timer)
    clear?.()
    clear = undefined
  }
  watch(
    [host, painting],
    ([el, what], was) => {
      const again = was[1] !== undefined
      end()
      if (!el || !what || what.before.length + what.after.length > MAX_CHARS) return
      const mine = turn
      const start = () =>
        void import('./paint').then(
          ({ paint }) => mine === turn && (clear = paint(el, what)),
          () => null,
        )
      if (again) timer = setTimeout(start, PAUSE_MS)
      else start()
    },
    { flush: 'post', immediate: true },
  )
  onBeforeUnmount(end)
}

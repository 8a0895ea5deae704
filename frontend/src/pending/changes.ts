import { compare, MAX_STEPS } from '@/text/compare'
import { numbered } from '@/text/diff'
import { MAX_LINES } from '@/text/limitLines'

interface Word {
  kind: 'same' | 'add' | 'del'
  text: string
}

export interface WordDiff {
  words: Word[]
  /** Whether parts were too different to compare word by word. */
  coarse: boolean
}

const tokensOf = (text: string): string[] => text.match(/\n|[^\S\n]+|[\p{L}\p{N}\p{M}_]+|[^\s\p{L}\p{N}\p{M}_]/gu) ?? []

/**
 * wordDiffOf compares two texts word by word. It takes at most a number of steps, which it counts, so
 * the result does not depend on time.
 */
export function wordDiffOf(before: string, after: string, steps = MAX_STEPS): WordDiff {
  const [a, b] = [tokensOf(before), tokensOf(after)]
  const { same, coarse } = compare(...numbered(a, b), steps)
  const words: Word[] = []
  const put = (kind: Word['kind'], texts: readonly string[]) => {
    if (texts.length === 0) return
    const last = words.at(-1)
    if (last?.kind === kind) last.text += texts.join('')
    else words.push({ kind, text: texts.join('') })
  }
  let [i, j] = [0, 0]
  for (const [x, y] of [...same, [a.length, b.length] as const]) {
    put('del', a.slice(i, x))
    put('add', b.slice(j, y))
    if (x < a.length) put('same', [a[x]!])
    ;[i, j] = [x + 1, y + 1]
  }
  if (words.length <= MAX_LINES) return { words, coarse }
  return {
    words: [
      { kind: 'del', text: before },
      { kind: 'add', text: after },
    ],
    coarse: true,
  }
}

export interface Change extends WordDiff {
  field: string
}

/** changesOf returns the fields of two tool inputs that differ, in the order of the newer one. */
export function changesOf(before: Record<string, unknown>, after: Record<string, unknown>): Change[] {
  const fields = new Set([...Object.keys(after), ...Object.keys(before)])
  return [...fields].flatMap((field) => {
    const was = textOf(before, field)
    const is = textOf(after, field)
    return was === is ? [] : [{ field, ...wordDiffOf(was, is) }]
  })
}

function textOf(input: Record<string, unknown>, field: string): string {
  const value = Object.hasOwn(input, field) ? input[field] : undefined
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')
}

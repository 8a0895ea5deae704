import { diffWordsWithSpace } from 'diff'

interface Word {
  kind: 'same' | 'add' | 'del'
  text: string
}

// Above either of these the words are not compared, and all is shown as replaced.
const MAX_CHARS = 20_000
const SEARCH_MS = 100

/** The difference of two texts, word by word. */
export function wordsOf(before: string, after: string): Word[] {
  const changes = before.length + after.length > MAX_CHARS
    ? undefined : diffWordsWithSpace(before, after, { timeout: SEARCH_MS })
  if (!changes) {
    return [{ kind: 'del' as const, text: before }, { kind: 'add' as const, text: after }].filter((w) => w.text !== '')
  }
  return changes.map((c) => ({ kind: c.added ? 'add' : c.removed ? 'del' : 'same', text: c.value }))
}

export interface Change {
  field: string
  words: Word[]
}

/** The fields of two tool inputs that differ, in the order of the newer one. */
export function changesOf(before: Record<string, unknown>, after: Record<string, unknown>): Change[] {
  const fields = new Set([...Object.keys(after), ...Object.keys(before)])
  return [...fields].flatMap((field) => {
    const was = textOf(before[field])
    const is = textOf(after[field])
    return was === is ? [] : [{ field, words: wordsOf(was, is) }]
  })
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')
}

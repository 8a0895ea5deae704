import { words } from './words'

/** A comment on one line of a change, which Claude has not got yet. */
export interface Comment {
  path: string
  side: 'before' | 'after'
  /** The line's number on its side, from 1. */
  line: number
  /** The line. */
  quote: string
  text: string
}

const MAX_QUOTE = 300 // characters

// A quote may contain what would end it.
const fence = (text: string): string => '`'.repeat(Math.max(0, ...(text.match(/`+/g) ?? []).map((s) => s.length)) + 1)

/** The one message that tells Claude all comments: each with its file, line and quote. */
export function messageOf(comments: readonly Comment[]): string {
  const sorted = comments.toSorted((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1))
  return [
    words.review,
    ...sorted.map((c) => {
      const quote = c.quote.trim().slice(0, MAX_QUOTE)
      const mark = fence(quote)
      const pad = quote.startsWith('`') || quote.endsWith('`') ? ' ' : ''
      const place = c.side === 'before' ? words.removed(c.line) : words.line(c.line)
      return `${c.path}, ${place}:${quote ? `\n> ${mark}${pad}${quote}${pad}${mark}` : ''}\n\n${c.text.trim()}`
    }),
  ].join('\n\n')
}

import { words } from './words'

/** A comment on one line of a change that was not sent to Claude yet. */
export interface Comment {
  path: string
  side: 'before' | 'after'
  /** The line's number on its side, from 1. */
  line: number
  /** The text of the line. */
  quote: string
  text: string
}

const MAX_QUOTE = 300 // characters

// The fence must be longer than any in the quote.
const fence = (text: string): string => '`'.repeat(Math.max(0, ...(text.match(/`+/g) ?? []).map((s) => s.length)) + 1)

/** Returns the message with all comments for Claude, each with its file, line and quote. */
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

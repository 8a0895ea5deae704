import type { LineEnds } from '@/wire/messages.gen'

/** Ends is the line ending of a text, '' for a single line without one. */
export type Ends = LineEnds | ''

export function lineEndsOf(text: string): Ends {
  if (!text.includes('\r\n')) return text.includes('\n') ? 'lf' : ''
  return /(?<!\r)\n/.test(text) ? 'mixed' : 'crlf'
}

export const asLF = (text: string): string => text.replaceAll('\r\n', '\n')

/**
 * comparable returns two texts to compare, and their line endings. Uniform endings are described in
 * one note; if both texts mix them, each stays where it is.
 */
export function comparable(before: string, after: string): { before: string; after: string; ends: [Ends, Ends] } {
  const ends: [Ends, Ends] = [lineEndsOf(before), lineEndsOf(after)]
  if (ends[0] === 'mixed' && ends[1] === 'mixed') return { before, after, ends }
  return { before: asLF(before), after: asLF(after), ends }
}

/**
 * withEnds returns an edited text with the line endings of the original. A browser's text field
 * drops every CR, so if all lines had CR LF and none has it now, nobody removed them on purpose.
 */
export function withEnds(original: string, now: string): string {
  return lineEndsOf(original) === 'crlf' && !now.includes('\r') ? now.replaceAll('\n', '\r\n') : now
}

import type { LineEnds } from '@/wire/messages.gen'

/** How the lines of a text end, '' when there is one line without an end. */
export type Ends = LineEnds | ''

export function lineEndsOf(text: string): Ends {
  if (!text.includes('\r\n')) return text.includes('\n') ? 'lf' : ''
  return /(?<!\r)\n/.test(text) ? 'mixed' : 'crlf'
}

export const asLF = (text: string): string => text.replaceAll('\r\n', '\n')

/**
 * Two texts as they are compared, and how their lines end. Ends that are one for all
 * lines are told in one note; of two texts that both mix them each is left where it is.
 */
export function comparable(before: string, after: string): { before: string; after: string; ends: [Ends, Ends] } {
  const ends: [Ends, Ends] = [lineEndsOf(before), lineEndsOf(after)]
  if (ends[0] === 'mixed' && ends[1] === 'mixed') return { before, after, ends }
  return { before: asLF(before), after: asLF(after), ends }
}

/**
 * What a person made of a text, with the ends of its lines. A text field of a browser
 * knows no CR, so where all lines ended with CR LF and none does, they were not taken
 * away by anybody.
 */
export function withEnds(original: string, now: string): string {
  return lineEndsOf(original) === 'crlf' && !now.includes('\r') ? now.replaceAll('\n', '\r\n') : now
}

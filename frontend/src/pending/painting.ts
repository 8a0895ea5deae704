import type { DiffLine } from '@/text/diff'

/** Place is the position at which the text of an element begins, in characters. */
export interface Place {
  side: 'before' | 'after'
  from: number
}

/** Painting is what to highlight: the children of an element, in order. */
export interface Painting {
  /** The path of the file, whose name determines the language. */
  path: string
  before: string
  after: string
  /** The place of each child; null if it has no text of either side. */
  places: readonly (Place | null)[]
  /** The lines of a diff, in which changed words are marked too. */
  lines?: readonly DiffLine[]
}

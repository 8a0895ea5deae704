import type { DiffLine } from '@/text/diff'

/** Where the text of one element begins, in characters. */
export interface Place {
  side: 'before' | 'after'
  from: number
}

/** What is to be coloured: the children of an element, in their order. */
export interface Painting {
  /** Of the file; its name says the language. */
  path: string
  before: string
  after: string
  /** Of each child; null for one that has no text of either. */
  places: readonly (Place | null)[]
  /** Lines of a difference, in which words are marked too. */
  lines?: readonly DiffLine[]
}

/** What a piece of code can be; worker and page speak of it by number. */
export const KINDS = [
  'constant',
  'string',
  'comment',
  'keyword',
  'parameter',
  'function',
  'punctuation',
  'link',
  'inserted',
  'deleted',
] as const

/** Start, end and kind, one after the other. */
export type Spans = Uint32Array

export interface Task {
  id: number
  code: string
  lang: string
}
export interface Coloured {
  id: number
  /** null: the language is not known, or its grammar failed. */
  spans: Spans | null
}

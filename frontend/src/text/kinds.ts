/** The kinds of code ranges; worker and page refer to them by index. */
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

/** Start, end and kind of each range, in sequence. */
export type Spans = Uint32Array

export interface Task {
  id: number
  code: string
  lang: string
}
export interface Coloured {
  id: number
  /** Null if the language is unknown or its grammar failed. */
  spans: Spans | null
}

/** What is drawn: a diagram, or a formula that is a block or a part of a line. */
export type DrawKind = 'mermaid' | 'math' | 'inline'

/** What the worker is asked. */
export interface DrawTask {
  kind: DrawKind
  source: string
}

/** An element of MathML as data. The page makes elements of what it knows and of nothing else; see mathml.ts. */
export interface MathTree {
  tag: string
  attributes: Record<string, string>
  style: Record<string, string>
  classes: string[]
  children: (MathTree | string)[]
}

/** The colours of a picture, which it does not know until it is shown. */
export const COLOURS = ['paper', 'ink', 'label', 'line', 'box'] as const
export type Colour = (typeof COLOURS)[number]
/** What stands in the place of a colour. */
export const placeOf = (colour: Colour) => `@${colour}@`

/** A picture, for an img and for nothing else, or a formula. */
export type Drawn = { svg: string } | { math: MathTree }

/** Why something is not drawn: its syntax, its size, or the time it takes. */
export type Failure = 'failed' | 'long' | 'slow'

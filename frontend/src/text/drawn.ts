/** What can be rendered: a diagram, a block formula or an inline formula. */
export type DrawKind = 'mermaid' | 'math' | 'inline'

/** A task for the worker. */
export interface DrawTask {
  kind: DrawKind
  source: string
}

/** An element of MathML as data. The page creates only elements that it knows; see mathml.ts. */
export interface MathTree {
  tag: string
  attributes: Record<string, string>
  style: Record<string, string>
  classes: string[]
  children: (MathTree | string)[]
}

/** The colors of an image, which are inserted when it is shown. */
export const COLOURS = ['paper', 'ink', 'label', 'line', 'box'] as const
export type Colour = (typeof COLOURS)[number]
/** The placeholder of a color. */
export const placeOf = (colour: Colour) => `@${colour}@`

/** An SVG, only for use in an img, or a formula. */
export type Drawn = { svg: string } | { math: MathTree }

/** Why something cannot be rendered: its syntax, its size, or the time limit. */
export type Failure = 'failed' | 'long' | 'slow'

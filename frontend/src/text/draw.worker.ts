import { placeOf, type Drawn, type DrawKind, type DrawTask, type Failure, type MathTree } from './drawn'

// Renders untrusted diagrams and formulas where there is no page to attack. The worker is terminated if it
// takes too long, and its result is not trusted either.

// A larger image would be unreadable, and would keep the page busy.
const MAX_SVG = 1_000_000
const MAX_ELEMENTS = 5_000
// The page builds nested elements recursively, so deeper ones could overflow its stack.
const MAX_DEPTH = 200
// A macro can expand to a whole formula, so expansions are limited.
const MAX_EXPANSIONS = 100
const MAX_EM = 20

type Draw = (source: string) => Promise<Drawn | Failure> | Drawn | Failure

async function diagrams(): Promise<Draw> {
  const { renderMermaid } = await import('beautiful-mermaid')
  return async (source) => {
    const svg = await renderMermaid(source, {
      bg: placeOf('paper'),
      fg: placeOf('ink'),
      muted: placeOf('label'),
      line: placeOf('line'),
      surface: placeOf('box'),
      border: placeOf('line'),
      font: 'Inter',
      transparent: true,
      padding: 12,
    })
    // The import requests external fonts, which browsers do not load for an image.
    return svg.length > MAX_SVG ? 'long' : { svg: svg.replaceAll(/@import [^;]*;/g, '') }
  }
}

async function formulas(displayMode: boolean): Promise<Draw> {
  const { default: temml } = await import('temml')
  return (source) => {
    const tree: unknown = temml.__renderToMathMLTree(source, {
      displayMode,
      throwOnError: true,
      strict: false,
      trust: false,
      maxExpand: MAX_EXPANSIONS,
      maxSize: [MAX_EM, MAX_EM],
    })
    let elements = 0
    // Replaces nodes that are not MathML elements, such as the place of an equation number, by their content.
    const plain = ({ type, text, children = [], ...more }: Node, depth: number): (MathTree | string)[] => {
      if (typeof text === 'string') return [text]
      if (++elements > MAX_ELEMENTS || depth > MAX_DEPTH) throw new RangeError('too many elements')
      const within = children.flatMap((child) => plain(child, depth + 1))
      if (type === undefined) return within
      const { attributes = {}, style = {}, classes = [] } = more
      return [
        {
          tag: type,
          attributes: strings(attributes),
          style: strings(style),
          classes: classes.filter(Boolean),
          children: within,
        },
      ]
    }
    try {
      const [math] = plain(tree as Node, 1)
      return typeof math === 'object' ? { math } : 'failed'
    } catch {
      return 'long'
    }
  }
}

const strings = (of: object) => Object.fromEntries(Object.entries(of).map(([name, value]) => [name, String(value)]))

/** A node of Temml's tree: an element of MathML (type), its text, or a container (neither). */
interface Node {
  type?: string
  text?: string
  attributes?: object
  style?: object
  classes?: string[]
  children?: Node[]
}

const LOAD: Record<DrawKind, () => Promise<Draw>> = {
  mermaid: diagrams,
  math: () => formulas(true),
  inline: () => formulas(false),
}

self.onmessage = async ({ data }: MessageEvent<DrawTask>) => {
  let result: Drawn | Failure = 'failed'
  try {
    const draw = await LOAD[data.kind]()
    // The time limit starts here, because loading the library may be slow.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
    self.postMessage('begins')
    result = await draw(data.source)
  } catch {
    // The syntax is unknown, or the library could not be loaded.
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
  self.postMessage(result)
}

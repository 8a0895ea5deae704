import type { Directive } from 'vue'
import { KINDS, type Coloured, type Spans, type Task } from './kinds'
import { startWorker } from './workers'

// Colors code by ranges (CSS custom highlights) instead of elements: the code stays one text node, nothing
// moves when the colors arrive, and a long file creates no elements. Browsers without highlights show it
// uncolored.

// Longer code would keep the worker busy for seconds.
const MAX_CHARS = 100_000
// A growing block gets its colors after a pause.
const PAUSE_MS = 250
const CACHED = 300

const able = typeof CSS !== 'undefined' && 'highlights' in CSS && typeof Worker !== 'undefined'
// With forced colors, each highlighted range looks selected, whatever its style.
const forced = able ? matchMedia('(forced-colors: active)') : null
const names = new Set<string>()
forced?.addEventListener('change', () => {
  if (forced.matches) for (const name of names) CSS.highlights.get(name)?.clear()
})
/** Reports whether text can be colored without elements. */
export const paints = (): boolean => able && forced?.matches === false
const cache = new Map<string, Spans | null>()
const waiting = new Map<number, (spans: Spans | null) => void>()
let worker: Worker | null | undefined
let lastID = 0

function start(): Worker | null {
  try {
    const made = startWorker('highlight')
    made.onmessage = ({ data }: MessageEvent<Coloured>) => {
      waiting.get(data.id)?.(data.spans)
      waiting.delete(data.id)
    }
    made.onerror = () => {
      worker = null
      for (const done of waiting.values()) done(null)
      waiting.clear()
    }
    return made
  } catch {
    return null
  }
}

/** Returns the colored ranges of code; null if the language is unknown. */
export async function spansOf(code: string, lang: string): Promise<Spans | null> {
  const key = lang + '\n' + code
  const known = cache.get(key)
  if (known !== undefined) return known
  if (worker === undefined) worker = start()
  const at = worker
  if (!at) return null
  const id = ++lastID
  const spans = await new Promise<Spans | null>((done) => {
    waiting.set(id, done)
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
    at.postMessage({ id, code, lang } satisfies Task)
  })
  if (cache.size >= CACHED) cache.delete(cache.keys().next().value!)
  cache.set(key, spans)
  return spans
}

/** Returns the highlight with a name; see tokens.css. */
export function highlightOf(name: string): Highlight {
  let found = CSS.highlights.get(name)
  if (!found) CSS.highlights.set(name, (found = new Highlight()))
  names.add(name)
  return found
}

interface Painted {
  ranges: [Highlight, Range][]
  timer: ReturnType<typeof setTimeout> | undefined
  turn: number
}
const painted = new WeakMap<Element, Painted>()

function clear(p: Painted): void {
  clearTimeout(p.timer)
  p.turn++
  for (const [highlight, range] of p.ranges) highlight.delete(range)
  p.ranges = []
}

async function paint(el: Element, p: Painted, code: string, lang: string): Promise<void> {
  const turn = p.turn
  const spans = await spansOf(code, lang)
  const text = el.firstChild
  if (!spans || turn !== p.turn || !(text instanceof Text) || text.data !== code) return
  for (let i = 0; i + 2 < spans.length; i += 3) {
    const range = new Range()
    range.setStart(text, spans[i]!)
    range.setEnd(text, Math.min(spans[i + 1]!, code.length))
    const highlight = highlightOf('code-' + KINDS[spans[i + 2]!]!)
    highlight.add(range)
    p.ranges.push([highlight, range])
  }
}

interface Wanted {
  code: string
  lang: string
  growing?: boolean
}

function want(el: Element, { code, lang, growing }: Wanted): void {
  let p = painted.get(el)
  if (!p) painted.set(el, (p = { ranges: [], timer: undefined, turn: 0 }))
  clear(p)
  if (lang === '' || code.length > MAX_CHARS) return
  if (growing) p.timer = setTimeout(() => void paint(el, p, code, lang), PAUSE_MS)
  else void paint(el, p, code, lang)
}

/** Colors the only text node of an element while it exists. */
export function colour(el: Element, code: string, lang: string): void {
  if (paints()) want(el, { code, lang })
}

/** Removes the colors of an element. */
export function uncolour(el: Element): void {
  const p = painted.get(el)
  if (p) clear(p)
}

/** Colors the only text node of an element. */
export const vColoured: Directive<HTMLElement, Wanted> = {
  mounted(el, { value }) {
    if (paints()) want(el, value)
  },
  updated(el, { value, oldValue }) {
    if (
      paints() &&
      (value.code !== oldValue?.code || value.lang !== oldValue.lang || value.growing !== oldValue.growing)
    )
      want(el, value)
  },
  beforeUnmount(el) {
    const p = painted.get(el)
    if (p) clear(p)
  },
}

const BY_ENDING = new Map(
  Object.entries({
    yml: 'yaml',
    md: 'markdown',
    mjs: 'js',
    cjs: 'js',
    mts: 'ts',
    cts: 'ts',
    htm: 'html',
    h: 'c',
    hpp: 'cpp',
    cc: 'cpp',
    tf: 'hcl',
    gql: 'graphql',
  }),
)
const BY_NAME = new Map(
  Object.entries({ dockerfile: 'docker', containerfile: 'docker', makefile: 'make', 'go.mod': '' }),
)

/** Returns the language of a file by its name, '' if unknown. */
export function languageOf(path: string): string {
  const name = path.split('/').at(-1)!.toLowerCase()
  if (BY_NAME.has(name)) return BY_NAME.get(name)!
  const ending = /\.([a-z0-9]{1,10})$/.exec(name)?.[1] ?? ''
  return BY_ENDING.get(ending) ?? ending
}

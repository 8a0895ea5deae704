import { mathOf } from './mathml'
import type { Drawn, DrawKind, DrawTask, Failure } from './drawn'
import { startWorker } from './workers'

// Nobody can read a larger diagram or formula.
const MAX_SOURCE: Record<DrawKind, number> = { mermaid: 20_000, math: 5_000, inline: 500 }
const DRAW_MS = 3_000
const LOAD_MS = 30_000
// Bounds the time that a transcript full of slow ones takes to half a minute on one core.
const MAX_SLOW = 10
const CACHED = 300

interface Job {
  task: DrawTask
  done: (result: Drawn | Failure) => void
}

// One after the other, so that each has its full time limit.
const queue: Job[] = []
let current: Job | null = null
let worker: Worker | null = null
let timer: ReturnType<typeof setTimeout> | undefined
let slow = 0
const drawings = new Map<string, Promise<Drawn | Failure>>()

function settle(result: Drawn | Failure): void {
  clearTimeout(timer)
  const job = current
  current = null
  job?.done(result)
}

function end(result: Drawn | Failure): void {
  settle(result)
  next()
}

function stop(result: Failure): void {
  worker?.terminate()
  worker = null
  end(result)
}

function limit(ms: number): void {
  clearTimeout(timer)
  timer = setTimeout(() => {
    slow++
    stop('slow')
  }, ms)
}

function start(): Worker {
  const made = startWorker('draw')
  made.onmessage = ({ data }: MessageEvent<'begins' | Drawn | Failure>) => {
    if (data === 'begins') limit(DRAW_MS)
    else end(data)
  }
  made.onerror = () => stop('failed')
  return made
}

// A loop, because any number may fail before one is rendered.
function next(): void {
  while (!current) {
    current = queue.shift() ?? null
    if (!current) return
    if (slow >= MAX_SLOW) {
      settle('slow')
      continue
    }
    try {
      worker ??= start()
    } catch {
      settle('failed')
      continue
    }
    limit(LOAD_MS)
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
    worker.postMessage(current.task)
  }
}

/**
 * Renders a diagram or formula in a worker, in bounded time. Equal sources are rendered once. It never
 * rejects.
 */
export function draw(kind: DrawKind, source: string): Promise<Drawn | Failure> {
  if (source.length > MAX_SOURCE[kind]) return Promise.resolve('long')
  const key = `${kind} ${source}`
  let found = drawings.get(key)
  if (!found) {
    found = new Promise((done) => {
      queue.push({ task: { kind, source }, done })
      next()
    })
    if (drawings.size >= CACHED) drawings.delete(drawings.keys().next().value!)
    drawings.set(key, found)
  }
  return found
}

/** Renders the inline formulas of an element. One that fails stays as source. */
export async function typeset(el: Element): Promise<void> {
  await Promise.all(
    Array.from(el.querySelectorAll('var'), async (place) => {
      const written = place.textContent
      const source = written.replace(/^\$+|\$+$/g, '')
      const drawn = await draw('inline', source)
      const math = typeof drawn === 'object' && 'math' in drawn ? mathOf(drawn.math, source) : null
      if (!math) return
      place.title = written
      place.replaceChildren(math)
    }),
  )
}

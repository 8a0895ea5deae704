import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { DrawTask, MathTree } from './drawn'

/** A worker that does what a test says. */
class FakeWorker {
  static all: FakeWorker[] = []
  readonly tasks: DrawTask[] = []
  ended = false
  onmessage: ((ev: { data: unknown }) => void) | null = null
  onerror: (() => void) | null = null
  constructor() {
    FakeWorker.all.push(this)
  }
  postMessage(task: DrawTask): void {
    this.tasks.push(task)
  }
  terminate(): void {
    this.ended = true
  }
  say(data: unknown): void {
    this.onmessage!({ data })
  }
}
const last = () => FakeWorker.all.at(-1)!

let draw: typeof import('./draw').draw
let typeset: typeof import('./draw').typeset
beforeEach(async () => {
  vi.useFakeTimers()
  vi.resetModules()
  FakeWorker.all = []
  vi.stubGlobal('Worker', FakeWorker)
  ;({ draw, typeset } = await import('./draw'))
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

test('one is drawn after the other, and the same once', async () => {
  const [one, two, again] = [draw('mermaid', 'one'), draw('mermaid', 'two'), draw('mermaid', 'one')]
  expect(last().tasks).toEqual([{ kind: 'mermaid', source: 'one' }])
  last().say('begins')
  last().say({ svg: '1' })
  expect(await one).toEqual({ svg: '1' })
  expect(await again).toEqual({ svg: '1' })
  expect(last().tasks).toHaveLength(2)
  last().say('failed')
  expect(await two).toBe('failed')
  expect(FakeWorker.all).toHaveLength(1)
})

test('what takes more than 3 s is ended, and what comes after it is drawn', async () => {
  const [loop, next] = [draw('mermaid', 'loop'), draw('math', 'x')]
  // The library may take its time to arrive.
  await vi.advanceTimersByTimeAsync(20_000)
  expect(last().ended).toBe(false)
  last().say('begins')
  await vi.advanceTimersByTimeAsync(3_000)
  expect(await loop).toBe('slow')
  expect(FakeWorker.all.map((w) => w.ended)).toEqual([true, false])
  expect(last().tasks).toEqual([{ kind: 'math', source: 'x' }])
  last().say({ svg: 'x' })
  expect(await next).toEqual({ svg: 'x' })
})

test('a transcript full of slow ones takes half a minute at most', async () => {
  const all = Array.from({ length: 50 }, (_, i) => draw('mermaid', `loop ${i}`))
  for (let i = 0; i < 50 && !last().ended; i++) {
    last().say('begins')
    await vi.advanceTimersByTimeAsync(3_000)
  }
  expect(await Promise.all(all)).toEqual(Array.from({ length: 50 }, () => 'slow'))
  expect(FakeWorker.all).toHaveLength(10)
})

test('a megabyte is not even read', async () => {
  expect(await draw('mermaid', 'a'.repeat(1 << 20))).toBe('long')
  expect(await draw('math', 'a'.repeat(1 << 20))).toBe('long')
  expect(FakeWorker.all).toHaveLength(0)
})

test('a worker that breaks is replaced; without one nothing is drawn', async () => {
  const broken = draw('math', 'x')
  last().onerror!()
  expect(await broken).toBe('failed')
  void draw('math', 'y')
  expect(FakeWorker.all).toHaveLength(2)
  last().say('failed')
  vi.stubGlobal('Worker', undefined)
  FakeWorker.all[1]!.onerror!()
  expect(await draw('math', 'z')).toBe('failed')
})

test('formulas in lines are set, and stay as they were written where that fails', async () => {
  const p = document.createElement('p')
  p.innerHTML = 'a <var>$x$</var> b <var>$\\oops$</var>'
  const done = typeset(p)
  const math: MathTree = { tag: 'math', attributes: {}, style: {}, classes: [], children: ['x'] }
  expect(last().tasks).toEqual([{ kind: 'inline', source: 'x' }])
  last().say({ math })
  last().say('failed')
  await done
  const [set, kept] = p.querySelectorAll('var')
  expect(set!.querySelector('math')?.getAttribute('alttext')).toBe('x')
  expect(set!.title).toBe('$x$')
  expect(kept!.outerHTML).toBe('<var>$\\oops$</var>')
})

test('any number that cannot be drawn is settled without a stack for each', async () => {
  const first = draw('mermaid', 'first') // the others wait for it
  const others = Array.from({ length: 60_000 }, (_, i) => draw('mermaid', `waits ${i}`))
  vi.stubGlobal('Worker', undefined)
  last().onerror!()
  expect(await first).toBe('failed')
  expect(new Set(await Promise.all(others))).toEqual(new Set(['failed']))
})

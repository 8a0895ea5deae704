import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { FrameQueue } from './frames'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('delivers a burst once, in order', () => {
  const got: number[][] = []
  const queue = new FrameQueue<number>(
    (f) => got.push(f),
    () => false,
  )
  for (const n of [1, 2, 3]) queue.push(n)
  expect(got).toEqual([])
  vi.advanceTimersByTime(20)
  expect(got).toEqual([[1, 2, 3]])
})

test('delivers in a hidden page too', () => {
  const got: number[][] = []
  const queue = new FrameQueue<number>(
    (f) => got.push(f),
    () => true,
  )
  queue.push(1)
  vi.advanceTimersByTime(250)
  expect(got).toEqual([[1]])
})

test('a flush leaves nothing for later', () => {
  const got: number[][] = []
  const queue = new FrameQueue<number>(
    (f) => got.push(f),
    () => false,
  )
  queue.push(1)
  queue.flush()
  queue.flush()
  vi.advanceTimersByTime(20)
  expect(got).toEqual([[1]])
})

describe('urgent frames', () => {
  test('are delivered at once, after the frames before them', () => {
    const got: number[][] = []
    const queue = new FrameQueue<number>(
      (f) => got.push(f),
      () => false,
    )
    queue.push(1)
    queue.push(2, true)
    expect(got).toEqual([[1, 2]])
    vi.advanceTimersByTime(20)
    expect(got).toEqual([[1, 2]])
  })

  test('are delivered at once in a hidden page too', () => {
    const got: number[][] = []
    const queue = new FrameQueue<number>(
      (f) => got.push(f),
      () => true,
    )
    queue.push(1, true)
    expect(got).toEqual([[1]])
  })

  test('are delivered once before the animation frame and once with it, however many there are', () => {
    const got: number[][] = []
    const queue = new FrameQueue<number>(
      (f) => got.push(f),
      () => false,
    )
    for (let n = 0; n < 200; n++) queue.push(n, true)
    expect(got.map((f) => f.length)).toEqual([1])
    vi.advanceTimersByTime(20)
    expect(got.map((f) => f.length)).toEqual([1, 199])
    queue.push(200, true)
    expect(got.map((f) => f.length)).toEqual([1, 199, 1])
  })
})

test('a visible page without animation frames delivers too', () => {
  vi.stubGlobal('requestAnimationFrame', () => 1)
  const got: number[][] = []
  const queue = new FrameQueue<number>(
    (f) => got.push(f),
    () => false,
  )
  queue.push(1)
  queue.push(2, true)
  queue.push(3, true)
  vi.advanceTimersByTime(250)
  expect(got).toEqual([[1, 2], [3]])
  vi.unstubAllGlobals()
})

test('no frame is lost, repeated or reordered, whatever is urgent and whenever the page is hidden', () => {
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.record({ do: fc.constant('push' as const), urgent: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(300) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('hide' as const, 'show' as const, 'flush' as const) }) },
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const got: number[] = []
      let hidden = false
      let sent = 0
      const queue = new FrameQueue<number>(
        (f) => void got.push(...f),
        () => hidden,
      )
      for (const s of steps) {
        if (s.do === 'push') queue.push(sent++, s.urgent)
        else if (s.do === 'wait') vi.advanceTimersByTime(s.ms)
        else if (s.do === 'flush') queue.flush()
        else hidden = s.do === 'hide'
      }
      vi.advanceTimersByTime(250)
      expect(got).toEqual(Array.from({ length: sent }, (_, n) => n))
    }),
    { numRuns: 300 },
  )
})

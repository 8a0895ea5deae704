import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { FrameQueue } from './frames'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a burst is handed over once, in order', () => {
  const got: number[][] = []
  const queue = new FrameQueue<number>((f) => got.push(f), () => false)
  for (const n of [1, 2, 3]) queue.push(n)
  expect(got).toEqual([])
  vi.advanceTimersByTime(20)
  expect(got).toEqual([[1, 2, 3]])
})

test('a hidden page takes in what arrives too', () => {
  const got: number[][] = []
  const queue = new FrameQueue<number>((f) => got.push(f), () => true)
  queue.push(1)
  vi.advanceTimersByTime(250)
  expect(got).toEqual([[1]])
})

test('a flush leaves nothing for later', () => {
  const got: number[][] = []
  const queue = new FrameQueue<number>((f) => got.push(f), () => false)
  queue.push(1)
  queue.flush()
  queue.flush()
  vi.advanceTimersByTime(20)
  expect(got).toEqual([[1]])
})

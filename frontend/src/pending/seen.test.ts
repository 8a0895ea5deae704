// @vitest-environment node
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SEEN_MS, Strips } from './seen'

const page = (strips: Strips, top: number, ms = SEEN_MS) => strips.add({ top, bottom: top + 400 }, ms)

/** A reader that has a body of a height before it. */
function reader(height: number): Strips {
  const strips = new Strips()
  strips.unseen(height)
  return strips
}

test('content that fits is seen after a moment, not before', () => {
  const strips = reader(300)
  page(strips, 0, SEEN_MS - 1)
  expect(strips.unseen(300)).toEqual({ top: 0, lines: 15 })
  page(strips, 0, 1)
  expect(strips.unseen(300)).toBeNull()
  expect(new Strips().unseen(0)).toBeNull()
})

test('jumping to the end leaves the skipped part unseen', () => {
  const strips = reader(4_000)
  page(strips, 0)
  page(strips, 3_600)
  expect(strips.unseen(4_000)).toEqual({ top: 400, lines: 160 })
})

test('content that was only scrolled past is unseen', () => {
  const strips = reader(4_000)
  for (let top = 0; top <= 3_600; top += 100) page(strips, top, 16)
  expect(strips.unseen(4_000)?.top).toBe(0)
  for (let top = 0; top <= 3_600; top += 20) page(strips, top, 16)
  page(strips, 0)
  page(strips, 3_600)
  expect(strips.unseen(4_000)).toBeNull()
})

test('going from one unseen part to the next reaches the end', () => {
  const strips = reader(4_010)
  let at = strips.unseen(4_010)
  for (let steps = 0; at && steps < 20; steps++) {
    page(strips, at.top - 20)
    at = strips.unseen(4_010)
  }
  expect(at).toBeNull()
})

test('unchanged lines at the end are exempt, with the padding after them', () => {
  const strips = reader(460)
  page(strips, 0)
  expect(strips.unseen(460)).toEqual({ top: 400, lines: 3 })
  expect(strips.unseen(460, [{ top: 395, bottom: 450 }])).toBeNull()
  expect(strips.unseen(460, [{ top: 395, bottom: 415 }])?.lines).toBe(2) // something comes after them
})

test('another text starts again', () => {
  const strips = reader(300)
  page(strips, 0)
  expect(strips.unseen(320)).not.toBeNull()
  page(strips, 0)
  strips.reset()
  expect(strips.unseen(320)).not.toBeNull()
})

test('exactly what was in view long enough is seen, in any order', () => {
  const looks = fc.array(fc.tuple(fc.nat(2_000), fc.integer({ min: 20, max: 500 }), fc.nat(300)), { maxLength: 30 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2_000 }), looks, (height, all) => {
      const strips = reader(height)
      for (const [top, tall, ms] of all) strips.add({ top, bottom: top + tall }, ms)
      const unseen = Array.from({ length: Math.ceil(height / 20) }, (_, i) => i * 20).filter((top) => {
        const middle = (top + Math.min(top + 20, height)) / 2
        return (
          all.reduce((sum, [from, tall, ms]) => sum + (middle >= from && middle <= from + tall ? ms : 0), 0) < SEEN_MS
        )
      })
      const now = strips.unseen(height)
      expect(now?.lines ?? 0).toBe(unseen.length)
      expect(now?.top).toBe(unseen[0])
    }),
  )
})

// @vitest-environment node
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  armedFrom,
  needsConfirmation,
  obstacle,
  STILL_MS,
  type Act,
  type Facts,
  type How,
  type ButtonSnapshot,
} from './decide'

const READY: Facts = {
  armed: true,
  stale: false,
  phase: 'open',
  mayAnswer: true,
  mayApprove: true,
  othersWrite: false,
  seen: true,
  known: true,
  valid: true,
  level: 'low',
  defaultToNo: false,
  confirmed: false,
}
const sight = (more: Partial<ButtonSnapshot> = {}): ButtonSnapshot => ({
  request: 'r',
  control: 'approve',
  rect: { x: 10, y: 500, width: 100, height: 48 },
  stillFor: STILL_MS,
  free: true,
  ...more,
})
const pointer = (down: Partial<ButtonSnapshot> | null, up: Partial<ButtonSnapshot> = {}): How => ({
  by: 'pointer',
  down: down && sight(down),
  up: sight(up),
})

describe('armedFrom', () => {
  test('waits a moment after the card appeared and after the window got the focus', () => {
    expect(armedFrom(1000, null)).toBe(1600)
    expect(armedFrom(0, 5000)).toBe(5500)
    expect(armedFrom(5000, 5050)).toBe(5600)
  })
})

describe('obstacle', () => {
  test.each<[Act, Partial<Facts>, string | null]>([
    ['approve', {}, null],
    ['approve', { armed: false }, 'unarmed'],
    ['approve', { stale: true }, 'stale'],
    ['approve', { mayAnswer: false }, 'rights'],
    ['approve', { mayApprove: false }, 'rights'],
    ['deny', { mayApprove: false }, null],
    ['answer', { mayApprove: false }, null],
    ['approve', { phase: 'held' }, 'phase'],
    ['deny', { phase: 'sending' }, 'phase'],
    ['approve', { othersWrite: true }, 'others'],
    ['deny', { othersWrite: true }, 'others'],
    ['approve', { seen: false }, 'unseen'],
    ['deny', { seen: false, known: false, valid: false }, null],
    ['approve', { known: false }, 'unknown'],
    ['approve', { valid: false }, 'invalid'],
    ['answer', { valid: false }, 'invalid'],
    ['answer', { seen: false, known: false }, null],
  ])('%s with %o: %s', (act, more, found) => {
    expect(obstacle(act, { ...READY, ...more })).toBe(found)
  })

  test('requires confirmation for high risk and for what Claude Code recommends denying; its button starts it', () => {
    for (const more of [{ level: 'high' as const }, { defaultToNo: true }]) {
      expect(needsConfirmation({ ...READY, ...more })).toBe(true)
      expect(obstacle('approve', { ...READY, ...more })).toBeNull()
      expect(obstacle('approve', { ...READY, ...more }, pointer({}))).toBe('unconfirmed')
      expect(obstacle('approve', { ...READY, ...more }, { by: 'key', repeat: false, inside: true })).toBe('unconfirmed')
      expect(obstacle('approve', { ...READY, ...more, confirmed: true }, pointer({}))).toBeNull()
      expect(obstacle('deny', { ...READY, ...more }, pointer({}))).toBeNull()
    }
  })

  test('accepts a press when the same enabled button of the same card was there when the pointer went down', () => {
    expect(obstacle('approve', READY, pointer({}))).toBeNull()
    const rect = sight().rect
    const wrong: [string, How][] = [
      ['nothing went down', pointer(null)],
      ['another card', pointer({ request: 'other' })],
      ['another button', pointer({ control: 'deny' })],
      ['not free then', pointer({ free: false })],
      ['just moved', pointer({ stillFor: STILL_MS - 1 })],
      ['just appeared', pointer({ stillFor: -Infinity })],
      ['moved between down and up', pointer({}, { rect: { ...rect, y: rect.y + 40 } })],
      ['grew between down and up', pointer({}, { rect: { ...rect, height: rect.height + 40 } })],
    ]
    for (const [why, how] of wrong)
      for (const act of ['approve', 'deny', 'answer'] as const)
        expect({ why, found: obstacle(act, READY, how) }).toEqual({ why, found: 'pointer' })
    // Layout rounds.
    expect(obstacle('approve', READY, pointer({}, { rect: { ...rect, y: rect.y + 0.5 } }))).toBeNull()
  })

  test('rejects a key that repeats or that came while the focus was elsewhere', () => {
    expect(obstacle('approve', READY, { by: 'key', repeat: false, inside: true })).toBeNull()
    expect(obstacle('approve', READY, { by: 'key', repeat: true, inside: true })).toBe('key')
    expect(obstacle('deny', READY, { by: 'key', repeat: false, inside: false })).toBe('key')
  })

  test('allows open low-risk requests in a bulk approval, unless they must be decided individually', () => {
    const batch: How = { by: 'batch', open: true }
    expect(obstacle('approve', READY, batch)).toBeNull()
    expect(obstacle('approve', { ...READY, level: 'medium' }, batch)).toBe('batch')
    expect(obstacle('approve', { ...READY, level: undefined }, batch)).toBe('batch')
    expect(obstacle('approve', READY, { by: 'batch', open: false })).toBe('batch')
    expect(obstacle('approve', { ...READY, defaultToNo: true, confirmed: true }, batch)).toBe('batch')
    expect(obstacle('deny', READY, batch)).toBe('batch')
  })

  test('lets no fact outweigh another obstacle', () => {
    const facts = fc.record({
      armed: fc.boolean(),
      stale: fc.boolean(),
      phase: fc.constantFrom('open', 'sending', 'held', 'taken', 'queued', 'late', 'unconfirmed'),
      mayAnswer: fc.boolean(),
      mayApprove: fc.boolean(),
      othersWrite: fc.boolean(),
      seen: fc.boolean(),
      known: fc.boolean(),
      valid: fc.boolean(),
      level: fc.constantFrom('low', 'medium', 'high', undefined),
      defaultToNo: fc.boolean(),
      confirmed: fc.boolean(),
    }) as fc.Arbitrary<Facts>
    const hows = fc.constantFrom<How | undefined>(
      undefined,
      pointer({}),
      pointer(null),
      { by: 'key', repeat: false, inside: true },
      { by: 'batch', open: true },
    )
    fc.assert(
      fc.property(facts, hows, (f, how) => {
        if (obstacle('approve', f, how) !== null) return
        expect(f).toMatchObject({
          armed: true,
          stale: false,
          phase: 'open',
          mayAnswer: true,
          mayApprove: true,
          othersWrite: false,
          seen: true,
          known: true,
          valid: true,
        })
        expect(!how || !needsConfirmation(f) || f.confirmed).toBe(true)
        expect(obstacle('deny', f, how?.by === 'batch' ? undefined : how)).toBeNull()
      }),
      { numRuns: 2_000 },
    )
  })
})

import { beforeEach, describe, expect, test } from 'vitest'
import { undoable, undoFor, undoing, type Given } from './undo'

beforeEach(() => {
  undoing.value = 'usual'
  undoFor.value = '3'
})

const given = (more: Partial<Given> = {}): Given => ({ decision: 'allow', touch: false, level: 'low', ...more })
const held = (more?: Partial<Given>) => undoable(given(more)).undo_ms ?? 0

describe('the undo window', () => {
  test('covers by default approvals by touch, and otherwise those above low risk and in bulk', () => {
    for (const level of ['low', 'medium', 'high', undefined, null] as const)
      expect(held({ touch: true, level })).toBe(3_000)
    expect(held({ level: 'low' })).toBe(0)
    expect(held({ level: 'medium' })).toBe(3_000)
    expect(held({ level: 'high' })).toBe(3_000)
    // What nothing is known of is not low.
    expect(held({ level: undefined })).toBe(3_000)
    expect(held({ level: 'low', bulk: true })).toBe(3_000)
    // A question that is answered with a mouse.
    expect(held({ level: null })).toBe(0)
  })
  test('does not cover denials, which do no harm', () => {
    for (const touch of [false, true]) expect(held({ decision: 'deny', touch, level: 'high' })).toBe(0)
  })
  test('has the scope and length that the person chose', () => {
    undoFor.value = '10'
    expect(held({ level: 'high' })).toBe(10_000)
    undoing.value = 'high'
    expect([held({ touch: true }), held({ level: 'medium' }), held({ level: 'high' }), held({ bulk: true })]).toEqual([
      0, 0, 10_000, 10_000,
    ])
    undoing.value = 'always'
    expect([held(), held({ decision: 'deny' })]).toEqual([10_000, 10_000])
    undoing.value = 'never'
    expect([held({ touch: true }), held({ level: 'high' }), held({ bulk: true })]).toEqual([0, 0, 0])
  })
})

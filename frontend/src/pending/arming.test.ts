import { describe, expect, test } from 'vitest'
import { mayApprove, mayDeny } from './arming'

describe('arming', () => {
  test('a card just shown takes no decision', () => {
    const m = { shown: 1000, focused: null, endSeen: true }
    expect(mayApprove(m, 1599)).toBe(false)
    expect(mayApprove(m, 1600)).toBe(true)
  })

  test('nor does one just come back to', () => {
    const m = { shown: 0, focused: 5000, endSeen: true }
    expect(mayDeny(m, 5499)).toBe(false)
    expect(mayDeny(m, 5500)).toBe(true)
  })

  test('approving needs the end seen, denying does not', () => {
    const m = { shown: 0, focused: null, endSeen: false }
    expect(mayApprove(m, 9999)).toBe(false)
    expect(mayDeny(m, 9999)).toBe(true)
  })
})

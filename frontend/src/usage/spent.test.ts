// @vitest-environment node
import { describe, expect, test } from 'vitest'
import type { Item } from '@/wire/messages.gen'
import { compactionsIn, contextIn, spentIn, turnCostsIn } from './spent'

let n = 0
const head = () => ({ seq: ++n, rev: n, key: `k${n}`, at: 1_700_000_000, agent_id: null })
const result = (cost_usd: number, tokens = 1): Item => ({
  ...head(),
  kind: 'result',
  is_error: false,
  subtype: 'success',
  duration_ms: 1,
  num_turns: 1,
  cost_usd,
  input_tokens: tokens,
  output_tokens: 2 * tokens,
})

describe('the cost', () => {
  const cost = (...totals: number[]) => spentIn(totals.map((c) => result(c))).cost

  test('is the last total while one process counts', () => {
    expect(cost(0.1, 0.3)).toBeCloseTo(0.3)
    expect(cost(0.51, 0.505, 0.6)).toBeCloseTo(0.605)
  })

  test('is added up when a total starts again', () => {
    expect(cost(0.1, 0.3, 0.05, 0.1)).toBeCloseTo(0.4)
  })

  test('is the sum of the turns, also after a resume by a CLI that starts at zero', () => {
    // The totals alone say 0.5: the one of the second process has passed that of the first.
    expect(
      spentIn([
        { ...result(0.2), spent_usd: 0.2 },
        { ...result(0.3), spent_usd: 0.3 },
        { ...result(0.5), spent_usd: 0.2 },
      ] as Item[]).cost,
    ).toBeCloseTo(0.7)
    expect(spentIn([result(0.2), { ...result(0.3), spent_usd: 0.3 }, result(0.4)] as Item[]).cost).toBeCloseTo(0.6)
    expect(spentIn([{ ...result(0), spent_usd: 0 }] as Item[]).cost).toBeNull()
  })

  test('is unknown when it was not reported', () => {
    expect(cost()).toBeNull()
    expect(cost(0)).toBeNull()
    expect(cost(0.2, 0, 0.3)).toBeCloseTo(0.3)
  })

  test('includes the turns of the main thread and the tokens of the last one', () => {
    expect(spentIn([result(0.1, 5), { ...result(9), agent_id: 'x' }, result(0.2, 7)])).toMatchObject({
      turns: 2,
      last: { input: 7, output: 14 },
    })
    expect(spentIn([])).toEqual({ turns: 0, cost: null, last: null })
  })
})

test('excludes turns of unknown cost', () => {
  const turns = [result(0.1), result(0), { ...result(0.4), spent_usd: 0.2 }] as Item[]
  expect(turnCostsIn(turns)).toEqual([
    { turn: 1, cost: 0.1 },
    { turn: 3, cost: 0.2 },
  ])
})

describe('the context usage', () => {
  const full = (context_tokens: number, context_window: number): Item =>
    ({ ...result(0.1), context_tokens, context_window }) as Item

  test('is the one reported by the last turn', () => {
    expect(contextIn([full(10, 200), full(170, 200)])).toEqual({ tokens: 170, window: 200, percent: 85, high: true })
    expect(contextIn([full(168, 200)])).toMatchObject({ percent: 84, high: false })
    expect(contextIn([full(10, 200), { ...full(190, 200), agent_id: 'x' }])).toMatchObject({ tokens: 10 })
  })

  test('is unknown when it was not reported', () => {
    expect(contextIn([])).toBeNull()
    expect(contextIn([full(10, 200), result(0.2)])).toBeNull()
  })

  const compacted = (after: number): Item =>
    ({ ...head(), kind: 'note', level: 'info', text: '', compaction: { before: 190, after, manual: true } }) as Item

  test('is the one after a summary until the next answer', () => {
    expect(contextIn([full(190, 200), compacted(20)])).toMatchObject({ tokens: 20, window: 200, percent: 10 })
    expect(contextIn([full(190, 200), compacted(20), result(0.2)])).toMatchObject({ tokens: 20 })
    expect(contextIn([full(190, 200), compacted(20), full(40, 200)])).toMatchObject({ tokens: 40 })
    expect(contextIn([full(190, 200), compacted(0)])).toBeNull()
    expect(contextIn([full(190, 200), compacted(20), result(0.2), result(0.3)])).toBeNull()
    expect(contextIn([compacted(20)])).toBeNull()
    expect(compactionsIn([full(190, 200), compacted(20)])).toEqual([{ at: 1_700_000_000, before: 190, after: 20 }])
  })
})

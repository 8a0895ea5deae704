import type { Item } from '@/wire/messages.gen'

// Sums of the turn results of a whole transcript.

// As in orchestrator/transcript/cost.go: some totals are rounded to cents.
const ROUNDED = 0.01

/**
 * turnCostsIn returns the cost of each turn in US dollars, without turns of unknown cost; turn
 * counts from 1. Each result contains the cost of its turn. In older transcripts, and if the server
 * could not know it, there is only the total of the process, which may continue that of the process
 * before: a total that decreased started again from 0.
 */
export function turnCostsIn(items: readonly Item[]): { turn: number; cost: number }[] {
  const costs: { turn: number; cost: number }[] = []
  let turn = 0
  let before = 0
  for (const it of items) {
    if (it.kind !== 'result' || it.agent_id !== null) continue
    turn++
    if (it.cost_usd <= 0) continue
    if (it.spent_usd !== undefined) costs.push({ turn, cost: it.spent_usd })
    else if (it.cost_usd >= before) costs.push({ turn, cost: it.cost_usd - before })
    else if (before - it.cost_usd > ROUNDED) costs.push({ turn, cost: it.cost_usd })
    before = it.cost_usd
  }
  return costs
}

/** spentIn returns the sums of the turn results. cost is in US dollars, null if unknown. */
export function spentIn(items: readonly Item[]): {
  turns: number
  cost: number | null
  last: { input: number; output: number } | null
} {
  let turns = 0
  let last: { input: number; output: number } | null = null
  for (const it of items) {
    if (it.kind !== 'result' || it.agent_id !== null) continue
    turns++
    last = { input: it.input_tokens, output: it.output_tokens }
  }
  const costs = turnCostsIn(items)
  return { turns, cost: costs.length > 0 ? costs.reduce((sum, c) => sum + c.cost, 0) : null, last }
}

/** compactionsIn returns the summaries of the conversation, in tokens, with their time. */
export function compactionsIn(items: readonly Item[]): { at: number; before: number; after: number }[] {
  return items.flatMap((it) =>
    it.kind === 'note' && it.compaction
      ? [{ at: it.at, before: it.compaction.before, after: it.compaction.after }]
      : [],
  )
}

// From this percentage, the context counts as nearly full.
const HIGH_PERCENT = 85

/**
 * contextIn returns how full Claude's context was at the end of the last turn, in tokens, counted
 * like the CLI's /context, or after the conversation was summarized since; null if unknown.
 */
export function contextIn(
  items: readonly Item[],
): { tokens: number; window: number; percent: number; high: boolean } | null {
  let tokens = 0
  let ended = false // a turn after which the context is unknown
  for (const it of items.toReversed()) {
    if (it.kind === 'note' && it.compaction && tokens === 0) {
      if (it.compaction.after <= 0) return null
      tokens = it.compaction.after
    }
    if (it.kind !== 'result' || it.agent_id !== null) continue
    if (it.context_tokens && it.context_window) {
      if (tokens === 0 && ended) return null
      tokens ||= it.context_tokens
      const percent = Math.round((100 * tokens) / it.context_window)
      return { tokens, window: it.context_window, percent, high: percent >= HIGH_PERCENT }
    }
    if (tokens === 0 && ended) return null
    ended = true
  }
  return null
}

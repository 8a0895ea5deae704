import type { SessionState } from '@/state/reducer'
import { unseen } from './seen'

export const GROUPS = ['waiting', 'running', 'your_turn', 'idle', 'ended'] as const
export type Group = (typeof GROUPS)[number]

/** Idle is whose turn has ended as a person has seen: nothing runs, and nothing is new. */
export function groupOf(s: SessionState): Group {
  if (s.pending_requests.length > 0) return 'waiting'
  switch (s.state) {
    case 'starting':
    case 'assistant_turn':
      return 'running'
    case 'user_turn':
      return unseen(s) > 0 ? 'your_turn' : 'idle'
    case 'dead':
      return 'ended'
  }
}

/** The ids of each group in the order shown: who waits longest first, else newest first. */
export function grouped(sessions: readonly SessionState[]): Record<Group, string[]> {
  const groups: Record<Group, SessionState[]> = { waiting: [], running: [], your_turn: [], idle: [], ended: [] }
  // What was archived comes back by itself when it runs or asks.
  for (const s of sessions) {
    const group = groupOf(s)
    if (!s.archived || group !== 'ended') groups[group].push(s)
  }
  const ids = (list: SessionState[], compare: (a: SessionState, b: SessionState) => number) =>
    list.toSorted(compare).map((s) => s.session_id)
  const newest = (a: SessionState, b: SessionState) => order(b) - order(a) || (a.session_id < b.session_id ? -1 : 1)
  return {
    waiting: ids(groups.waiting, (a, b) => a.pending_requests[0]!.created_at - b.pending_requests[0]!.created_at),
    running: ids(groups.running, newest),
    your_turn: ids(groups.your_turn, newest),
    idle: ids(groups.idle, newest),
    ended: ids(groups.ended, newest),
  }
}

function order(s: SessionState): number {
  return s.state === 'dead' ? s.updated_at : s.state_changed_at
}

import type { ClosedRequest, SessionState } from '@/state/reducer'

// A server that resumes automatically does so at once.
const RESUMES_WITHIN_MS = 15_000

/**
 * resumingOf returns what happens with the answer to a request whose process had died: Claude is
 * being resumed with it, or it is stored until somebody resumes Claude; null if neither applies.
 * now is in ms, skew is the server's clock minus ours, in seconds.
 */
export function resumingOf(
  closed: Pick<ClosedRequest, 'request' | 'closed_at'>,
  session: Pick<SessionState, 'state' | 'state_changed_at'>,
  now: number,
  skew: number,
): 'resuming' | 'kept' | null {
  if (closed.request.status !== 'orphaned') return null
  if (session.state === 'starting') return 'resuming'
  if (session.state !== 'dead') return null
  const diedAgain = session.state_changed_at > closed.closed_at / 1000 + skew
  return !diedAgain && now - closed.closed_at < RESUMES_WITHIN_MS ? 'resuming' : 'kept'
}

import type { ClosedRequest, SessionState } from '@/state/reducer'

// A server that resumes by itself does so at once; one that does not, never.
const RESUMES_WITHIN_MS = 15_000

/**
 * What becomes of the answer to a request whose process had died: Claude is
 * being resumed with it, or it is kept until somebody resumes Claude; null when
 * there is nothing to say. now is milliseconds, skew the server's clock minus
 * ours, seconds.
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

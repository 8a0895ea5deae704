import type { ProcessState, ServerFrame } from '@/wire/messages.gen'
import type { Listing, State } from './reducer'

/**
 * Whether a person waits for what a frame tells: that a request came or went,
 * and the first that is known of the sessions or of a transcript at all.
 */
export function urgent(frame: ServerFrame | Listing, state: State): boolean {
  switch (frame.type) {
    case 'batch':
      return frame.frames.some((f) => urgent(f, state))
    case 'process_state':
      return asksAnew(frame, state)
    case 'active_processes':
      return !state.complete || frame.processes.some((p) => asksAnew(p, state))
    case 'transcript':
      return !state.transcripts.has(frame.session_id)
    default:
      return false
  }
}

function asksAnew(next: ProcessState, state: State): boolean {
  const known = state.sessions.get(next.session_id)?.pending_requests ?? []
  const now = next.pending_requests
  return (
    now.length !== known.length ||
    now.some((r, i) => r.request_id !== known[i]!.request_id || r.status !== known[i]!.status)
  )
}

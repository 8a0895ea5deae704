import type { ProcessState, ServerFrame } from '@/wire/messages.gen'
import type { Listing, State } from './reducer'

/**
 * Reports whether a frame must be shown at once: a request opened or closed, or it is the first
 * frame about the sessions or a transcript.
 */
export function isUrgent(frame: ServerFrame | Listing, state: State): boolean {
  switch (frame.type) {
    case 'batch':
      return frame.frames.some((f) => isUrgent(f, state))
    case 'process_state':
      return requestsChanged(frame, state)
    case 'active_processes':
      return !state.complete || frame.processes.some((p) => requestsChanged(p, state))
    case 'transcript':
      return !state.transcripts.has(frame.session_id)
    default:
      return false
  }
}

function requestsChanged(next: ProcessState, state: State): boolean {
  const known = state.sessions.get(next.session_id)?.pending_requests ?? []
  const now = next.pending_requests
  return (
    now.length !== known.length ||
    now.some((r, i) => r.request_id !== known[i]!.request_id || r.status !== known[i]!.status)
  )
}

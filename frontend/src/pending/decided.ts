import { reactive } from 'vue'
import { answerTo } from '@/wire/commands'
import { onOwner } from '@/connection/owner'
import type { useSessions } from '@/state/sessions'
import type { Request } from '@/wire/messages.gen'

/**
 * decidedHere reports whether this person has decided a request that is still open: the answer is
 * in flight, held, or the first of two approvals.
 */
export function decidedHere(store: ReturnType<typeof useSessions>, r: Request): boolean {
  if (r.held && !r.held.dropped) return r.held.mine
  return (
    r.approval?.first?.mine === true ||
    answerTo(store.outbox, r.request_id) !== undefined ||
    store.state.acks.get(r.request_id)?.result === 'applied'
  )
}

/** OwnDecision is a decision of this person. */
export interface OwnDecision {
  decision: 'allow' | 'deny'
  /** The edited input that was approved. */
  input?: unknown
}

/** The decisions of this person since the page was loaded, by request_id. */
export const ownDecisions = reactive(new Map<string, OwnDecision>())
onOwner(() => ownDecisions.clear())

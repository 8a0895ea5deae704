import { reactive, watch } from 'vue'
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

/** recordDecisions keeps this person's decisions in ownDecisions, until the scope is disposed. */
export function recordDecisions(store: ReturnType<typeof useSessions>): void {
  watch(
    () => store.outbox,
    (entries) => {
      for (const { command } of entries) {
        if (command.type === 'pending_request_response')
          ownDecisions.set(command.request_id, { decision: command.decision ?? 'allow', input: command.updated_input })
      }
    },
    { immediate: true, flush: 'sync' },
  )
}

/**
 * decisionHere returns this person's decision on a request, open or not; undefined without one, or if another
 * answer was first.
 */
export function decisionHere(store: ReturnType<typeof useSessions>, r: Request): OwnDecision['decision'] | undefined {
  const id = r.request_id
  if ((store.state.acks.get(id)?.result ?? 'applied') !== 'applied') return undefined
  if (['withdrawn', 'expired'].includes(store.state.resolutions.get(id)?.outcome ?? '')) return undefined
  return r.held?.mine && !r.held.dropped ? r.held.decision : ownDecisions.get(id)?.decision
}

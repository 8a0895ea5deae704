import { reactive } from 'vue'
import { answerTo } from '@/wire/commands'
import { onOwner } from '@/connection/owner'
import type { useSessions } from '@/state/sessions'
import type { Request } from '@/wire/messages.gen'

/** Whether this person has decided a request that is still there: the answer is in flight, is held, or is the first of two. */
export function decidedHere(store: ReturnType<typeof useSessions>, r: Request): boolean {
  if (r.held && !r.held.dropped) return r.held.mine
  return (
    r.approval?.first?.mine === true ||
    answerTo(store.outbox, r.request_id) !== undefined ||
    store.state.acks.get(r.request_id)?.result === 'applied'
  )
}

/** A decision of this person. */
export interface Given {
  decision: 'allow' | 'deny'
  /** What was approved in the place of what was asked. */
  input?: unknown
}

/** What this person decided since the page was opened, by request_id. */
export const given = reactive(new Map<string, Given>())
onOwner(() => given.clear())

import { computed, watch, type ComputedRef } from 'vue'
import { answerTo } from '@/wire/commands'
import type { SessionState } from '@/state/reducer'
import { may } from '@/project/rights'
import { useSessions } from '@/state/sessions'
import { useNow } from '@/ui/clock'
import type { PendingRequestResponse, Request } from '@/wire/messages.gen'
import { usePort } from '@/connection/port'
import { noteDecision, release } from './hand'
import { phaseOf, type Phase } from './phase'
import { undoable, type Given } from './undo'

// How long a tab waits, after the undo window of an answer, for the state in which it counts.
const LATE_S = 3

type Decided = Pick<
  PendingRequestResponse,
  'decision' | 'message' | 'interrupt' | 'updated_input' | 'updated_permissions' | 'responses'
>

/** Pressed is a decision of this person that is in flight. */
export interface Pressed {
  decision: 'allow' | 'deny'
  interrupt: boolean
}

/** useRequest returns the state of this tab's answer to a request, and a function that gives one. */
export function useRequest(props: { session: SessionState; request: Request }): {
  phase: ComputedRef<Phase>
  /** Whether the person may answer, and no answer is in flight. */
  free: ComputedRef<boolean>
  /** Whether the person may deny it, which is also possible while anybody's approval is held. */
  deniable: ComputedRef<boolean>
  /** The decision in flight, null if there is none. */
  pressed: ComputedRef<Pressed | null>
  decide(decided: Decided, given: Omit<Given, 'decision'>): void
} {
  const store = useSessions()
  const port = usePort()
  const now = useNow(1000)
  const phase = computed((): Phase => {
    if (props.request.held && !props.request.held.dropped) return { kind: 'held' }
    const ack = store.state.acks.get(props.request.request_id)
    const at = phaseOf(props.request.request_id, store.outbox, ack, store.connected, now.value)
    // The undo window is over and the request is still open, so the answer was undone.
    if (
      at.kind === 'taken' &&
      ack?.held_until !== undefined &&
      now.value / 1000 + store.state.skew > ack.held_until + LATE_S
    ) {
      return { kind: 'open', refused: null }
    }
    // The first of two approvals leaves the request open.
    return at.kind === 'taken' && props.request.approval?.effect === 'two_people' ? { kind: 'open', refused: null } : at
  })
  watch(
    () => phase.value.kind === 'open' && phase.value.refused !== null,
    (refused) => refused && release(),
  )
  const free = computed(() => phase.value.kind === 'open' && may(props.session, 'answer', store.state.user?.role))
  const deniable = computed(
    () =>
      free.value ||
      (phase.value.kind === 'held' &&
        props.request.held?.decision === 'allow' &&
        may(props.session, 'answer', store.state.user?.role) &&
        !answerTo(store.outbox, props.request.request_id)),
  )
  return {
    phase,
    free,
    deniable,
    pressed: computed(() => {
      // An offline answer is queued, not in flight.
      if (!store.connected) return null
      const command = answerTo(store.outbox, props.request.request_id)?.command
      if (command?.type !== 'pending_request_response') return null
      return { decision: command.decision ?? 'allow', interrupt: command.interrupt === true }
    }),
    decide(decided, given) {
      if (phase.value.kind !== 'open' && !(decided.decision === 'deny' && deniable.value)) return
      noteDecision()
      port.answer({
        session_id: props.session.session_id,
        request_id: props.request.request_id,
        request_type: props.request.request_type,
        input_hash: props.request.input_hash,
        ...decided,
        // If two people must approve, the second one replaces the undo window.
        ...(props.request.approval?.effect === 'two_people'
          ? {}
          : undoable({ decision: decided.decision ?? 'allow', ...given })),
      })
    },
  }
}

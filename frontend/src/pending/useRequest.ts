import { computed, watch, type ComputedRef } from 'vue'
import { answerTo } from '@/wire/commands'
import type { SessionState } from '@/state/reducer'
import { may } from '@/project/rights'
import { useSessions } from '@/state/sessions'
import { useNow } from '@/ui/clock'
import type { PendingRequestResponse, Request } from '@/wire/messages.gen'
import { usePort } from '@/connection/port'
import { release, rest } from './hand'
import { phaseOf, type Phase } from './phase'
import { undoable, type Given } from './undo'

// After an answer was to count a tab waits so long for the state that says so.
const LATE_S = 3

type Decided = Pick<
  PendingRequestResponse,
  'decision' | 'message' | 'interrupt' | 'updated_input' | 'updated_permissions' | 'responses'
>

/** The decision that was pressed and is not yet known to count. */
export interface Pressed {
  decision: 'allow' | 'deny'
  interrupt: boolean
}

/** The state of this tab's answer to a request, and the way to give one. */
export function useRequest(props: { session: SessionState; request: Request }): {
  phase: ComputedRef<Phase>
  /** Whether an answer may be given: none is on its way. */
  free: ComputedRef<boolean>
  /** Whether it may be denied: also while an approval is held, whoever gave it. */
  deniable: ComputedRef<boolean>
  /** What was pressed, while it is on its way. */
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
    // What was held and is open all the same was taken back.
    if (
      at.kind === 'taken' &&
      ack?.held_until !== undefined &&
      now.value / 1000 + store.state.skew > ack.held_until + LATE_S
    ) {
      return { kind: 'open', refused: null }
    }
    // The first of two approvals is taken, and leaves the request open.
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
      // What waits for the connection is not on its way.
      if (!store.connected) return null
      const command = answerTo(store.outbox, props.request.request_id)?.command
      if (command?.type !== 'pending_request_response') return null
      return { decision: command.decision ?? 'allow', interrupt: command.interrupt === true }
    }),
    decide(decided, given) {
      if (phase.value.kind !== 'open' && !(decided.decision === 'deny' && deniable.value)) return
      rest()
      port.answer({
        session_id: props.session.session_id,
        request_id: props.request.request_id,
        request_type: props.request.request_type,
        input_hash: props.request.input_hash,
        ...decided,
        // Where two must approve, the other one is the second thought.
        ...(props.request.approval?.effect === 'two_people'
          ? {}
          : undoable({ decision: decided.decision ?? 'allow', ...given })),
      })
    },
  }
}

import { computed, provide, ref, watch, type ComputedRef, type Ref } from 'vue'
import { usePort } from '@/connection/port'
import { may, mayApprove } from '@/project/rights'
import type { SessionState } from '@/state/reducer'
import { useSessions } from '@/state/sessions'
import type { Level, Request } from '@/wire/messages.gen'
import { obstacle, type Facts } from './decide'
import { guardKey } from './guard'
import type { Phase } from './phase'
import { useArming } from './useArming'

/** Decidable is what a card knows of the request to decide; RequestCard has the same props. */
export interface Decidable {
  readonly session: SessionState
  readonly request: Request
  readonly phase: Phase
  readonly gated: boolean
  readonly level?: Level | undefined
  readonly known: boolean
  readonly valid: boolean
  readonly defaultToNo: boolean
}

/**
 * useDecidable collects the facts with which decide.ts decides whether a card may be decided now,
 * and provides them to the buttons in it. seen reports whether all of the card was on screen.
 */
export function useDecidable(
  card: Decidable,
  seen: Readonly<Ref<boolean>>,
): {
  facts: ComputedRef<Facts>
  /** Whether this person may answer at all. */
  answerable: ComputedRef<boolean>
  /** The names of other people who are writing the answer. */
  writers: ComputedRef<string[]>
  /** Whether this person took over although others are writing. */
  takenOver: Ref<boolean>
  /** Shows others that this person is typing. */
  sendTyping: () => void
  rearm: () => void
} {
  const store = useSessions()
  const port = usePort()
  const { armed, rearm } = useArming()
  // After a refused or undone decision, the person decides from the beginning.
  watch(
    () => card.phase.kind,
    (is, was) => is === 'open' && was !== 'open' && rearm(),
    { flush: 'sync' },
  )

  const answerable = computed(() => may(card.session, 'answer', store.state.user?.role))
  const writers = computed(() =>
    store
      .viewers(card.session.session_id)
      .filter((v) => v.typing && v.request_id === card.request.request_id && v.name !== store.state.user?.name)
      .map((v) => v.name),
  )
  // While another person writes the answer, this card decides nothing, unless this person takes
  // over or was writing already.
  const takenOver = ref(false)
  function sendTyping() {
    takenOver.value = true
    port.typing(card.session.session_id, card.request.request_id)
  }

  // ApprovalRule shows why a person may not approve.
  const facts = computed<Facts>(() => ({
    armed: armed.value,
    stale: store.stale,
    phase: card.phase.kind,
    mayAnswer: answerable.value,
    mayApprove: mayApprove(card.session, card.request, store.state.user?.role),
    othersWrite: !takenOver.value && writers.value.length > 0,
    seen: !card.gated || seen.value,
    deniable: card.phase.kind === 'held' && card.request.held?.decision === 'allow',
    known: card.known,
    valid: card.valid,
    level: card.level,
    defaultToNo: card.defaultToNo,
    confirmed: false,
  }))
  provide(guardKey, {
    request: () => card.request.request_id,
    obstacle: (act, more, how) => obstacle(act, { ...facts.value, ...more }, how),
  })

  return { facts, answerable, writers, takenOver, sendTyping, rearm }
}

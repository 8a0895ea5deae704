import { computed, provide, reactive, type ComputedRef } from 'vue'
import { usePort } from '@/connection/port'
import { t } from '@/i18n'
import { useSessions } from '@/state/sessions'
import { answerTo } from '@/wire/commands'
import { batchable, batchProblem, factsOf, type BatchProblem } from './batch'
import { obstacle, type Facts } from './decide'
import type { Waiting } from './groups'
import { guardKey } from './guard'
import { offerUndo } from './offers'
import { outcomeText } from './outcome'
import { undoable } from './undo'
import { useArming } from './useArming'
import { words } from './words'

/** Fate is the outcome of one of several requests. Only an open one can be selected. */
export interface Fate {
  kind: 'open' | 'sending' | 'queued' | 'held' | 'applied' | 'failed'
  /** '' while it is unanswered. */
  text: string
}

/**
 * useBatch decides several requests with one press, each with its own answer. listed are the displayed ones,
 * open or not; group means that they are of one session, where medium risk is allowed. byDefault returns
 * which are selected until the person selects.
 */
export function useBatch(
  listed: () => readonly Waiting[],
  group: boolean,
  byDefault: (w: Waiting) => boolean,
  seen: () => boolean,
): {
  facts: ComputedRef<Facts>
  fateOf: (w: Waiting) => Fate
  has: (w: Waiting) => boolean
  select: (list: readonly Waiting[], on: boolean) => void
  /** Freezes the displayed selection, because the person is using the card. */
  freeze: () => void
  /** The open and selected requests. */
  selected: ComputedRef<Waiting[]>
  problem: ComputedRef<BatchProblem | null>
  /** This person's answers that can be undone. */
  held: ComputedRef<Waiting[]>
  /** The number of answers sent, approved and denied; null while some are in flight. */
  sum: ComputedRef<{ sent: number; allow: number; deny: number } | null>
  /** The decision in flight. */
  busy: ComputedRef<'allow' | 'deny' | null>
  decide: (decision: 'allow' | 'deny', touch: boolean, message?: string) => void
  rearm: () => void
} {
  const store = useSessions()
  const port = usePort()
  const { armed, rearm } = useArming()
  const choices = reactive(new Map<string, boolean>())
  const sent = reactive(new Map<string, 'allow' | 'deny'>())
  const role = () => store.state.user?.role
  const idOf = (w: Waiting) => w.request.request_id

  const openOne = (w: Waiting) =>
    store.session(w.session.session_id)?.pending_requests.find((r) => r.request_id === idOf(w))
  const decided = (decision: 'allow' | 'deny' | undefined) =>
    decision === 'deny' ? words.after.denied : words.after.approved

  function fateOf(w: Waiting): Fate {
    const now = openOne(w)
    const ack = sent.has(idOf(w)) ? store.state.acks.get(idOf(w)) : undefined
    if (now?.held && !now.held.dropped)
      return now.held.mine
        ? { kind: 'held', text: decided(now.held.decision) }
        : { kind: 'failed', text: words.undo.theirs(now.held.by, now.held.decision) }
    if (answerTo(store.outbox, idOf(w)))
      return store.connected
        ? { kind: 'sending', text: words.batch.sending }
        : { kind: 'queued', text: words.batch.queued }
    if (ack && ack.result !== 'applied') {
      if (ack.result !== 'rejected') return { kind: 'failed', text: outcomeText(w.request, ack.resolved, null) }
      const why = (ack.error && t.translateReason(ack.error.message, ack.error)) || words.batch.refused
      return { kind: now ? 'open' : 'failed', text: why }
    }
    if (ack) return { kind: 'applied', text: decided(sent.get(idOf(w))) }
    if (!now || now.status !== 'open')
      return { kind: 'failed', text: outcomeText(now ?? w.request, store.resolution(idOf(w)), null) }
    return { kind: 'open', text: '' }
  }
  const fates = computed(() => new Map(listed().map((w) => [idOf(w), fateOf(w)])))
  const fate = (w: Waiting) => fates.value.get(idOf(w)) ?? fateOf(w)
  const open = computed(() => listed().filter((w) => fate(w).kind === 'open'))

  const has = (w: Waiting) => fate(w).kind === 'open' && (choices.get(idOf(w)) ?? byDefault(w))
  const selected = computed(() => open.value.filter(has))
  const select = (list: readonly Waiting[], on: boolean) => list.forEach((w) => choices.set(idOf(w), on))
  function freeze() {
    for (const w of open.value) if (!choices.has(idOf(w))) choices.set(idOf(w), byDefault(w))
  }

  const problem = computed<BatchProblem | null>(() => {
    if (!group) return batchProblem(selected.value, role())
    return selected.value.every((w) => batchable(w, role(), true)) ? null : 'rights'
  })
  // The strictest facts of all requests.
  const facts = computed<Facts>(() => ({
    ...factsOf(listed()[0]!, role()),
    armed: armed.value,
    stale: store.stale,
    phase: 'open',
    mayAnswer: selected.value.length > 0 && selected.value.every((w) => factsOf(w, role()).mayAnswer),
    mayApprove: problem.value === null,
    seen: seen(),
    level: 'low',
    defaultToNo: false,
  }))
  provide(guardKey, {
    request: () => selected.value.map(idOf).join(),
    obstacle: (act, more, how) => obstacle(act, { ...facts.value, ...more }, how),
  })

  function decide(decision: 'allow' | 'deny', touch: boolean, message = '') {
    const list = [...selected.value]
    const together = list.map(idOf)
    for (const { session, request } of list) {
      sent.set(request.request_id, decision)
      port.answer({
        session_id: session.session_id,
        request_id: request.request_id,
        request_type: request.request_type,
        input_hash: request.input_hash,
        decision,
        ...(decision === 'allow' ? { batch: true, together } : message ? { message } : {}),
        // Where two people must approve, the second approval replaces the undo window.
        ...(request.approval?.effect === 'two_people'
          ? {}
          : undoable({ decision, touch, level: request.risk, bulk: true })),
      })
    }
    // A request that returns after a refusal or undo must be selected again.
    select(list, false)
    rearm()
    offerUndo()
  }

  const busy = computed(() => {
    const flying = listed().find((w) => fate(w).kind === 'sending')
    return flying ? (sent.get(idOf(flying)) ?? null) : null
  })
  const held = computed(() => listed().filter((w) => fate(w).kind === 'held'))
  const sum = computed(() => {
    const mine = listed().filter((w) => sent.has(idOf(w)))
    if (mine.length === 0 || mine.some((w) => ['sending', 'queued'].includes(fate(w).kind))) return null
    const good = mine.filter((w) => ['held', 'applied'].includes(fate(w).kind))
    return {
      sent: mine.length,
      allow: good.filter((w) => sent.get(idOf(w)) === 'allow').length,
      deny: good.filter((w) => sent.get(idOf(w)) === 'deny').length,
    }
  })

  return { facts, fateOf: fate, has, select, freeze, selected, problem, held, sum, busy, decide, rearm }
}

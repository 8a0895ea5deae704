import { useEventListener } from '@vueuse/core'
import { computed, onScopeDispose, reactive, shallowRef, watch, type ComputedRef, type Ref } from 'vue'
import { useSessions } from '@/state/sessions'
import { touch } from '@/ui/narrow'
import { answerTo } from '@/wire/commands'
import type { Request } from '@/wire/messages.gen'
import { decidedHere, ownDecisions, recordDecisions, type OwnDecision } from './decided'

// A card that was decided here is replaced by its outcome. On touch devices, a request that arrived
// since then has no place yet: the next card appears when the person asks for it. Elsewhere it
// appears at once, below, and accepts no decision before the hand has moved (hand.ts).

/** On touch devices, outcomes disappear after this time without a touch, in ms, if no other request is open. */
const OUTCOME_MS = 10_000
/** The same for strips on other devices, even while other requests are open. */
const STRIP_MS = 5_000
/** The same for strips whose undo windows are over. */
const AFTER_UNDO_WINDOW_MS = 1_500

/** Outcome is the result of a request, shown in the place of its card. */
export interface Outcome {
  request: Request
  given: OwnDecision
  /** The height of the card that was there, in px. */
  height: number
}

/**
 * useOutcomes assigns places to requests and to the outcomes of those that were decided here. root
 * contains an element with data-slot, the request_id, for each place. only returns the single
 * request to show, if there is one. onDismiss is called when outcomes disappeared while the focus
 * was in root.
 */
export function useOutcomes(
  requests: ComputedRef<Request[]>,
  root: Readonly<Ref<HTMLElement | null>>,
  only: () => string | undefined,
  onDismiss: (requestID: string) => void,
): {
  outcomes: Readonly<Ref<ReadonlyMap<string, Outcome>>>
  requestsByID: ComputedRef<ReadonlyMap<string, Request>>
  /** The requests and outcomes with a place, by request_id. */
  places: Readonly<Ref<readonly string[]>>
  /** The requests that this person has not decided yet. */
  undecided: ComputedRef<Request[]>
  /** Whether outcomes keep their places. */
  keepsPlaces: ComputedRef<boolean>
  /** Removes the outcomes, so that newer requests appear. */
  clearOutcomes: () => void
  /** Removes one outcome; on touch devices all of them, so that newer requests appear. */
  dismissOutcome: (requestID: string) => void
} {
  const store = useSessions()
  const outcomes = shallowRef<ReadonlyMap<string, Outcome>>(new Map())
  const cleared = reactive(new Set<string>())
  recordDecisions(store)

  const requestsByID = computed(() => new Map(requests.value.map((r) => [r.request_id, r])))
  const decided = computed(() => requests.value.filter((r) => decidedHere(store, r) && !cleared.has(r.request_id)))
  const undecided = computed(() => requests.value.filter((r) => !decidedHere(store, r)))
  const keepsPlaces = computed(() => outcomes.value.size > 0 || decided.value.length > 0)
  const places = shallowRef<readonly string[]>([])

  const heightOf = (id: string) =>
    [...(root.value?.querySelectorAll<HTMLElement>('[data-slot]') ?? [])].find((el) => el.dataset['slot'] === id)
      ?.offsetHeight ?? 0

  /** Reports whether a closed request was decided by this person's answer; all others have a notice. */
  function hasOutcome(id: string): boolean {
    if (cleared.has(id) || !ownDecisions.has(id)) return false
    if (['withdrawn', 'expired'].includes(store.state.resolutions.get(id)?.outcome ?? '')) return false
    const ack = store.state.acks.get(id)
    return ack ? ack.result !== 'rejected' : answerTo(store.outbox, id) !== undefined
  }

  const before = new Map<string, Request>()
  watch(
    [requestsByID, decided],
    ([now]) => {
      const next = new Map(outcomes.value)
      for (const [id, request] of before) {
        if (!now.has(id) && hasOutcome(id))
          next.set(id, { request, given: ownDecisions.get(id)!, height: heightOf(id) })
      }
      for (const id of now.keys()) next.delete(id)
      before.clear()
      for (const [id, r] of now) before.set(id, r)
      if (next.size !== outcomes.value.size || [...next.keys()].some((id) => !outcomes.value.has(id)))
        outcomes.value = next
      const stay = places.value.filter((id) => now.has(id) || next.has(id))
      // A request decided in another tab has no outcome here.
      const settled = [...now].filter(([id, r]) => !stay.includes(id) && decidedHere(store, r)).map(([id]) => id)
      places.value =
        keepsPlaces.value && stay.length > 0
          ? [...stay, ...(touch.value ? settled : [...now.keys()].filter((id) => !stay.includes(id)))]
          : [...now.keys()]
    },
    { immediate: true },
  )
  // A link from a list may lead to a request that was already decided here.
  const linked = only()
  const closed = linked === undefined ? undefined : store.state.closed.get(linked)
  if (linked && closed && !requestsByID.value.has(linked) && store.state.acks.get(linked)?.result === 'applied') {
    outcomes.value = new Map([
      [linked, { request: closed.request, given: ownDecisions.get(linked) ?? { decision: 'allow' }, height: 0 }],
    ])
    places.value = [linked]
  }

  function clearOutcomes() {
    for (const r of decided.value) cleared.add(r.request_id)
    for (const id of outcomes.value.keys()) cleared.add(id)
    outcomes.value = new Map()
    places.value = [...requestsByID.value.keys()]
  }

  function dismiss(ids: readonly string[]) {
    const focused = ids.find((id) =>
      [...(root.value?.querySelectorAll<HTMLElement>('[data-slot]') ?? [])].some(
        (el) => el.dataset['slot'] === id && el.contains(document.activeElement),
      ),
    )
    for (const id of ids) cleared.add(id)
    outcomes.value = new Map([...outcomes.value].filter(([id]) => !ids.includes(id)))
    places.value = places.value.filter((id) => requestsByID.value.has(id) || outcomes.value.has(id))
    if (focused !== undefined) onDismiss(focused)
  }
  function dismissOutcome(requestID: string) {
    if (touch.value) clearOutcomes()
    else dismiss([requestID])
  }

  let timer: ReturnType<typeof setTimeout> | undefined
  function startTimer() {
    clearTimeout(timer)
    if (only() || outcomes.value.size === 0 || (touch.value && undecided.value.length > 0)) return
    const wait = () =>
      touch.value
        ? OUTCOME_MS
        : [...outcomes.value.values()].some((o) => !o.request.held?.mine)
          ? STRIP_MS
          : AFTER_UNDO_WINDOW_MS
    timer = setTimeout(() => {
      // An outcome stays under the pointer or with the focus in it. While a request waits, one that
      // has the focus itself stays too, because a shortcut leads from it to the request.
      const stays = undecided.value.length > 0 ? '.outcome:focus-within' : '.outcome :focus'
      if (root.value?.querySelector(`.outcome:hover, ${stays}`)) startTimer()
      else dismiss([...outcomes.value.keys()])
    }, wait())
  }
  // Not on each state of the session, because there are many while Claude works.
  watch([() => outcomes.value, () => undecided.value.map((r) => r.request_id).join()], startTimer)
  useEventListener('pointerdown', startTimer, true)
  onScopeDispose(() => clearTimeout(timer))

  return { outcomes, requestsByID, places, undecided, keepsPlaces, clearOutcomes, dismissOutcome }
}

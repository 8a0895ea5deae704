import { useEventListener } from '@vueuse/core'
import { computed, onScopeDispose, reactive, shallowRef, watch, type ComputedRef, type Ref } from 'vue'
import { useSessions } from '@/state/sessions'
import { answerTo } from '@/wire/commands'
import type { Request } from '@/wire/messages.gen'
import { decidedHere, given, type Given } from './decided'

// A card that was decided here is replaced by its outcome. A request that arrived since then has no
// place yet, so that nothing that can be decided moves under the finger or focus. The next card
// appears when the person asks for it.

/** If no other request is open, outcomes disappear once nobody has touched the page for this long. */
const OUTCOME_MS = 10_000

/** Outcome is the result of a request, shown in the place of its card. */
export interface Outcome {
  request: Request
  given: Given
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
} {
  const store = useSessions()
  const outcomes = shallowRef<ReadonlyMap<string, Outcome>>(new Map())
  const cleared = reactive(new Set<string>())
  watch(
    () => store.outbox,
    (entries) => {
      for (const { command } of entries) {
        if (command.type === 'pending_request_response')
          given.set(command.request_id, { decision: command.decision ?? 'allow', input: command.updated_input })
      }
    },
    { immediate: true, flush: 'sync' },
  )

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
    if (cleared.has(id) || !given.has(id)) return false
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
        if (!now.has(id) && hasOutcome(id)) next.set(id, { request, given: given.get(id)!, height: heightOf(id) })
      }
      for (const id of now.keys()) next.delete(id)
      before.clear()
      for (const [id, r] of now) before.set(id, r)
      if (next.size !== outcomes.value.size || [...next.keys()].some((id) => !outcomes.value.has(id)))
        outcomes.value = next
      const stay = places.value.filter((id) => now.has(id) || next.has(id))
      // A request decided in another tab has no outcome here.
      const settled = [...now].filter(([id, r]) => !stay.includes(id) && decidedHere(store, r)).map(([id]) => id)
      places.value = keepsPlaces.value && stay.length > 0 ? [...stay, ...settled] : [...now.keys()]
    },
    { immediate: true },
  )
  // A link from a list may lead to a request that was already decided here.
  const linked = only()
  const closed = linked === undefined ? undefined : store.state.closed.get(linked)
  if (linked && closed && !requestsByID.value.has(linked) && store.state.acks.get(linked)?.result === 'applied') {
    outcomes.value = new Map([
      [linked, { request: closed.request, given: given.get(linked) ?? { decision: 'allow' }, height: 0 }],
    ])
    places.value = [linked]
  }

  function clearOutcomes() {
    for (const r of decided.value) cleared.add(r.request_id)
    for (const id of outcomes.value.keys()) cleared.add(id)
    outcomes.value = new Map()
    places.value = [...requestsByID.value.keys()]
  }

  let timer: ReturnType<typeof setTimeout> | undefined
  function startTimer() {
    clearTimeout(timer)
    if (only() || outcomes.value.size === 0 || undecided.value.length > 0) return
    timer = setTimeout(() => {
      const focused = root.value?.contains(document.activeElement) ? [...outcomes.value.keys()][0] : undefined
      clearOutcomes()
      if (focused !== undefined) onDismiss(focused)
    }, OUTCOME_MS)
  }
  watch([outcomes, undecided], startTimer)
  useEventListener('pointerdown', startTimer, true)
  onScopeDispose(() => clearTimeout(timer))

  return { outcomes, requestsByID, places, undecided, keepsPlaces, clearOutcomes }
}

import { useTimeoutFn } from '@vueuse/core'
import { computed, ref, shallowRef, watch } from 'vue'
import { decidedHere } from '@/pending/decided'
import { reasonOf, titleOf } from '@/pending/title'
import { useSessions } from '@/state/sessions'
import { useNow } from '@/ui/clock'
import { duration } from '@/ui/numbers'
import { matches, NO_FILTER, ordered, type Waiting } from './queue'
import { snooze, snoozedUntil } from './snooze'

// Rows do not move while a pointer, finger or key is used on them.
const SETTLE_MS = 1_000

/**
 * Returns the text of a row: the command, path or address, with the tool's name if the tool has no
 * icon of its own.
 */
function whatOf({ request, session }: Waiting): string {
  const { icon, line } = titleOf(request, session.cwd)
  return (icon !== 'tool' && line) || reasonOf(request, session.cwd)
}

export type Queue = ReturnType<typeof useQueue>
export type Row = Queue['rows']['value'][number]

/**
 * useQueue returns the open requests of all sessions, filtered, in an order that does not change
 * while a person uses the list.
 */
export function useQueue() {
  const store = useSessions()
  const clock = useNow(10_000)
  // A snooze is visible at once, not only after the next tick.
  const snoozedAt = ref(0)
  const now = computed(() => Math.max(clock.value, snoozedAt.value))
  const filter = ref({ ...NO_FILTER })

  const open = computed(() => new Map(store.requests.map((w) => [w.request.request_id, w])))
  // Requests seen so far, so that a row that closed can stay in place for a moment.
  const known = new Map<string, Waiting>()
  watch(open, (map) => map.forEach((w, id) => known.set(id, w)), { immediate: true, flush: 'sync' })

  const isSnoozed = (id: string) => snoozedUntil(id, now.value) !== null
  const isDecided = (id: string) => {
    const w = open.value.get(id)
    return w !== undefined && decidedHere(store, w.request)
  }
  const wanted = computed(() =>
    ordered(
      store.requests.filter((w) => matches(w, filter.value)),
      isSnoozed,
    ),
  )
  /** The requests still to decide: neither snoozed nor decided here. */
  const left = computed(() => wanted.value.filter((id) => !isSnoozed(id) && !isDecided(id)))

  const order = shallowRef(wanted.value)
  let touchedAt = 0
  const wait = () => touchedAt + SETTLE_MS - Date.now()
  const timer = useTimeoutFn(settle, wait, { immediate: false })
  function settle() {
    timer.stop()
    const settled = wait() <= 0
    // New requests go to the end, where they move no other row.
    order.value = settled ? wanted.value : [...order.value, ...wanted.value.filter((id) => !order.value.includes(id))]
    if (!settled) timer.start()
  }
  watch(wanted, settle)
  /** Keeps the order for a moment, because a person points at the list or moves through it. */
  const touch = () => (touchedAt = Date.now())
  /** Updates the order now, because a person asked for it. */
  function refilter() {
    touchedAt = 0
    settle()
  }
  function clearFilter() {
    filter.value = { ...NO_FILTER }
    refilter()
  }

  const rows = computed(() =>
    order.value.flatMap((id) => {
      const w = open.value.get(id) ?? known.get(id)
      if (!w) return []
      const until = snoozedUntil(id, now.value)
      return [
        {
          ...w,
          id,
          gone: !open.value.has(id),
          line: reasonOf(w.request, w.session.cwd),
          title: titleOf(w.request, w.session.cwd),
          what: whatOf(w),
          waited: duration(Math.floor(Math.max(0, now.value / 1000 + store.state.skew - w.request.created_at))),
          snoozedFor: until === null ? null : Math.ceil((until - now.value) / 60_000),
        },
      ]
    }),
  )

  /**
   * Toggles the snooze of an open request, and returns whether it is snoozed now; undefined if it
   * is not open.
   */
  function toggleSnooze(id: string): boolean | undefined {
    if (!open.value.has(id)) return undefined
    const is = snooze(id, Date.now())
    snoozedAt.value = Date.now()
    return is
  }

  return {
    rows,
    order,
    left,
    filter,
    filtering: computed(() => Object.values(filter.value).some((v) => v !== '')),
    refilter,
    clearFilter,
    touch,
    isOpen: (id: string) => open.value.has(id),
    isDecided,
    isSnoozed,
    toggleSnooze,
    /** Returns a request that is open, or was open since the inbox was opened. */
    find: (id: string) => open.value.get(id) ?? known.get(id),
  }
}

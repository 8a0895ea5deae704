import { useTimeoutFn } from '@vueuse/core'
import { computed, ref, shallowRef, watch } from 'vue'
import { decidedHere } from '@/pending/decided'
import { useGroups, type Unit } from '@/pending/groups'
import { lineOf, titleOf } from '@/pending/title'
import { useSessions } from '@/state/sessions'
import { useNow } from '@/ui/clock'
import { duration } from '@/ui/numbers'
import { matches, NO_FILTER, ordered } from './queue'
import { snooze, snoozedUntil } from './snooze'
import { words } from './words'

// Rows do not move while a pointer, finger or key is used on them.
const SETTLE_MS = 1_000

/** What a row says: the command, path or address; with the name of a tool that has no icon of its own. */
function whatOf({ request, requests, session, group }: Unit): string {
  if (group) return words.group(request.tool_name, requests.length)
  const { icon, line } = titleOf(request, session.cwd)
  return (icon !== 'tool' && line) || lineOf(request, session.cwd)
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

  const groups = useGroups()
  const open = computed(() => new Map(groups.units.map((u) => [u.id, u])))
  // What was seen once, so that a row that left can stay where it is for a moment.
  const known = new Map<string, Unit>()
  watch(open, (map) => map.forEach((u, id) => known.set(id, u)), { immediate: true, flush: 'sync' })
  /** The unit that a request belongs to, for a link to any request of a group. */
  const unitID = (id: string) => groups.groupOf(id)?.id ?? id

  const isSnoozed = (id: string) => snoozedUntil(unitID(id), now.value) !== null
  const isDecided = (id: string) => {
    const u = open.value.get(unitID(id))
    return u !== undefined && u.requests.every((r) => decidedHere(store, r))
  }
  const wanted = computed(() =>
    ordered(
      groups.units.filter((u) => matches(u, filter.value)),
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
      const u = open.value.get(id) ?? known.get(id)
      if (!u) return []
      const until = snoozedUntil(id, now.value)
      return [
        {
          ...u,
          id,
          gone: !open.value.has(id),
          /** It has become a part of another row. */
          joined: unitID(id) !== id,
          line: u.group ? whatOf(u) : lineOf(u.request, u.session.cwd),
          title: titleOf(u.request, u.session.cwd),
          what: whatOf(u),
          waited: duration(Math.floor(Math.max(0, now.value / 1000 + store.state.skew - u.request.created_at))),
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
    if (!open.value.has(unitID(id))) return undefined
    const is = snooze(unitID(id), Date.now())
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
    isOpen: (id: string) => open.value.has(unitID(id)),
    isDecided,
    isSnoozed,
    toggleSnooze,
    unitID,
    /** What is open, or was since the inbox was opened, by its id or that of a request of it. */
    find: (id: string) => open.value.get(unitID(id)) ?? known.get(unitID(id)),
  }
}

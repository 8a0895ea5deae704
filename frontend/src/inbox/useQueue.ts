import { useTimeoutFn } from '@vueuse/core'
import { computed, ref, shallowRef, watch } from 'vue'
import { decidedHere, decisionHere, recordDecisions } from '@/pending/decided'
import { useGroups, type Unit } from '@/pending/groups'
import { lineOf, titleOf } from '@/pending/title'
import { useSessions } from '@/state/sessions'
import { useNow } from '@/ui/clock'
import { duration } from '@/ui/numbers'
import { matches, NO_FILTER, ordered } from './queue'
import { snoozedAt, snoozedUntil, toggleSnooze } from '@/pending/snooze'
import { words } from './words'

// Rows do not move while a pointer, finger or key is used on them.
const SETTLE_MS = 1_000
// A decided row shows the decision while its request is displayed, and at least this long.
const DECIDED_MS = 5_000

/** The text of a row: the command, path or address, with the name of a tool without an icon. */
function whatOf({ request, requests, session, group }: Unit): string {
  if (group) return words.group(request.tool_name, requests.length)
  const { icon, line } = titleOf(request, session.cwd)
  return (icon !== 'tool' && line) || lineOf(request, session.cwd)
}

export type Queue = ReturnType<typeof useQueue>
export type Row = Queue['rows']['value'][number]

/**
 * useQueue returns the open requests of all sessions, filtered, in an order that does not change
 * while a person uses the list, and those that this person has just decided. current returns the id
 * of the displayed one.
 */
export function useQueue(current: () => string | undefined) {
  const store = useSessions()
  recordDecisions(store)
  const clock = useNow(10_000)
  // A snooze is visible at once, not only after the next tick.
  const now = computed(() => Math.max(clock.value, snoozedAt.value))
  const filter = ref({ ...NO_FILTER })

  const groups = useGroups()
  const open = computed(() => new Map(groups.units.map((u) => [u.id, u])))
  // Known units, so that a row of a closed one can stay for a moment.
  const known = new Map<string, Unit>()
  /** When a unit that this person decided was closed, in ms, by id. */
  const decidedAt = new Map<string, number>()
  watch(
    open,
    (map, was) => {
      map.forEach((u, id) => known.set(id, u))
      for (const [id, u] of was ?? [])
        if (!map.has(id) && decisionOf(u) !== undefined) {
          decidedAt.set(id, Date.now())
          later.start()
        }
    },
    { immediate: true, flush: 'sync' },
  )
  /** This person's decision on all requests of a row; '' if the decisions differ. */
  function decisionOf(u: Unit): 'allow' | 'deny' | '' | undefined {
    const all = new Set(u.requests.map((r) => decisionHere(store, r)))
    return all.has(undefined) ? undefined : all.size === 1 ? [...all][0] : ''
  }
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

  const stays = (id: string) =>
    decidedAt.has(id) && !open.value.has(id) && (id === current() || Date.now() - decidedAt.get(id)! < DECIDED_MS)
  /** The filtered ids, with decided ones in their places. */
  function withDecided(): string[] {
    const list = [...wanted.value]
    order.value.forEach((id, i) => {
      if (list.includes(id) || !stays(id)) return
      const before = order.value.slice(0, i).findLast((other) => list.includes(other))
      list.splice(before === undefined ? 0 : list.indexOf(before) + 1, 0, id)
    })
    return list
  }

  const order = shallowRef(wanted.value)
  let touchedAt = 0
  const wait = () => touchedAt + SETTLE_MS - Date.now()
  const timer = useTimeoutFn(settle, wait, { immediate: false })
  const later = useTimeoutFn(settle, DECIDED_MS, { immediate: false })
  function settle() {
    timer.stop()
    const settled = wait() <= 0
    // New requests go to the end, where they move no other row.
    order.value = settled ? withDecided() : [...order.value, ...wanted.value.filter((id) => !order.value.includes(id))]
    if (!settled) timer.start()
  }
  watch([wanted, current], settle)
  /** Keeps the order for a moment, because the person points at the list or moves through it. */
  const touch = () => (touchedAt = Date.now())
  /** Updates the order now, at the person's request. */
  function refilter() {
    touchedAt = 0
    decidedAt.clear()
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
          /** This person's decision: 'allow', 'deny', or '' if the requests of the row got different ones. */
          decision: decidedAt.has(id) || isDecided(id) ? decisionOf(u) : undefined,
          /** Whether it is now part of another row. */
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
  function snooze(id: string): boolean | undefined {
    if (!open.value.has(unitID(id))) return undefined
    return toggleSnooze(unitID(id))
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
    snooze,
    unitID,
    /**
     * Returns a unit that is open, or was since the inbox was opened, by its id or that of one of its
     * requests.
     */
    find: (id: string) => open.value.get(unitID(id)) ?? known.get(unitID(id)),
  }
}

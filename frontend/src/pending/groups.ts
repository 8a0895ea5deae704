import { defineStore } from 'pinia'
import { computed, shallowReactive, watch } from 'vue'
import type { SessionState } from '@/state/reducer'
import { useSessions } from '@/state/sessions'
import type { Request } from '@/wire/messages.gen'
import { needsIndividualReview } from './individualReview'

/** A request and its session. */
export interface Waiting {
  session: SessionState
  request: Request
}

/** Unit is an entry of the inbox: a request, or a group. request is the oldest that is still open. */
export interface Unit extends Waiting {
  id: string
  requests: readonly Request[]
  group: boolean
}

/** Group holds requests of one session with the same tool that arrived together. Its id is that of the first request, and stays. */
export interface Group {
  id: string
  sessionID: string
  tool: string
  /** When the last one arrived, in seconds of the server's clock. */
  newest: number
  requestIDs: readonly string[]
}

/** Requests this close in time form a group, in seconds, and later ones this close to its newest request join it. */
const WINDOW_S = 5
const MIN_GROUP = 3
/** How many requests of one session the server accepts with one confirmation. */
export const MAX_GROUP = 50

// Requests that need a separate card join no group: a dangerous one is confirmed alone, and
// others show a rule or an earlier answer.
const mayGroup = (r: Request): boolean =>
  r.request_type === 'tool_approval' &&
  r.source === 'claude' &&
  r.status === 'open' &&
  r.tool_name !== 'ExitPlanMode' &&
  (r.risk === 'low' || r.risk === 'medium') &&
  !needsIndividualReview(r) &&
  !r.approval &&
  !r.earlier

/**
 * grouped returns the groups of one session's open requests, oldest first. A group lasts until
 * none of its requests is open, however few are left. previous are the groups so far, and apart
 * holds the requests that stay alone.
 */
export function grouped(
  sessionID: string,
  requests: readonly Request[],
  previous: readonly Group[],
  apart: ReadonlySet<string>,
): Group[] {
  const left = new Map(
    requests
      .filter((r) => mayGroup(r) && !apart.has(r.request_id))
      .toSorted((a, b) => a.created_at - b.created_at)
      .map((r) => [r.request_id, r]),
  )
  const groups = previous.flatMap((g) => {
    const requestIDs = g.requestIDs.filter((id) => left.delete(id))
    return requestIDs.length > 0 ? [{ ...g, requestIDs }] : []
  })
  let alone: Request[] = []
  for (const r of left.values()) {
    // A decided request keeps its own card.
    if (r.held) continue
    const group = groups.find(
      (g) => g.tool === r.tool_name && g.requestIDs.length < MAX_GROUP && Math.abs(r.created_at - g.newest) <= WINDOW_S,
    )
    if (group) {
      group.requestIDs = [...group.requestIDs, r.request_id]
      group.newest = Math.max(group.newest, r.created_at)
      continue
    }
    const burst = [...alone.filter((x) => x.tool_name === r.tool_name && r.created_at - x.created_at <= WINDOW_S), r]
    alone.push(r)
    if (burst.length < MIN_GROUP) continue
    alone = alone.filter((x) => !burst.includes(x))
    const requestIDs = burst.map((x) => x.request_id)
    groups.push({ id: requestIDs[0]!, sessionID, tool: r.tool_name, newest: r.created_at, requestIDs })
  }
  return groups
}

/** useGroups returns the waiting requests as the inbox lists and counts them. */
export const useGroups = defineStore('groups', () => {
  const store = useSessions()
  const apart = shallowReactive(new Set<string>())

  const groups = computed<readonly Group[]>((previous) =>
    store.waiting.flatMap((s) =>
      grouped(
        s.session_id,
        s.pending_requests,
        (previous ?? []).filter((g) => g.sessionID === s.session_id),
        apart,
      ),
    ),
  )
  /** The requests that have been in a group. The card of the group shows their outcomes. */
  const listed = new Set<string>()
  const groupOf = computed(() => new Map(groups.value.flatMap((g) => g.requestIDs.map((id) => [id, g] as const))))
  const units = computed<readonly Unit[]>(() => {
    const byID = new Map<string, Unit & { requests: Request[] }>()
    for (const { session, request } of store.requests) {
      const id = groupOf.value.get(request.request_id)?.id ?? request.request_id
      const unit = byID.get(id)
      if (unit) unit.requests.push(request)
      else byID.set(id, { id, session, request, requests: [request], group: groupOf.value.has(request.request_id) })
    }
    return [...byID.values()]
  })

  watch(groupOf, (now) => [...now.keys()].forEach((id) => listed.add(id)), { flush: 'sync', immediate: true })

  return {
    units,
    wasListed: (requestID: string): boolean => listed.has(requestID),
    /** Returns the group of an open request, undefined if it is in none. */
    groupOf: (requestID: string): Group | undefined => groupOf.value.get(requestID),
    /** Gives each request of a group a separate card. */
    separate(id: string) {
      for (const r of groups.value.find((g) => g.id === id)?.requestIDs ?? []) apart.add(r)
    },
    /** Keeps requests out of groups, because somebody is using their cards. */
    keepApart(requestIDs: readonly string[]) {
      for (const id of requestIDs) if (!groupOf.value.has(id)) apart.add(id)
    },
  }
})

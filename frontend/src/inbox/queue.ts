import type { SessionState } from '@/state/reducer'
import { needsOwnLook, obstacle, type Facts } from '@/pending/decide'
import { may, mayApprove } from '@/project/rights'
import type { Level, Request, Role } from '@/wire/messages.gen'

/** Waiting is an open request and its session. */
export interface Waiting {
  session: SessionState
  request: Request
}

export interface Filter {
  tool: string
  project: string
  risk: '' | Level
}

export const NO_FILTER: Filter = { tool: '', project: '', risk: '' }

export function matches({ session, request }: Waiting, f: Filter): boolean {
  return (
    (f.tool === '' || request.tool_name === f.tool) &&
    (f.project === '' || session.cwd === f.project) &&
    (f.risk === '' || request.risk === f.risk)
  )
}

/** Returns the ids in the order in which they are shown: oldest first, then the snoozed ones. */
export function ordered(all: readonly Waiting[], snoozed: (requestID: string) => boolean): string[] {
  const ids = all.map((w) => w.request.request_id)
  return [...ids.filter((id) => !snoozed(id)), ...ids.filter(snoozed)]
}

/** The most requests that one confirmation approves: no more than a person reads. */
export const MAX_BATCH = 20

/** Returns the facts about a request in a list. The confirmation shows all of it, so it counts as seen. */
export const factsOf = ({ session, request }: Waiting, role: Role | undefined): Facts => ({
  armed: true,
  stale: false,
  phase: request.held && !request.held.dropped ? 'held' : 'open',
  mayAnswer: may(session, 'answer', role),
  mayApprove: mayApprove(session, request, role),
  othersWrite: false,
  seen: true,
  known: true,
  valid: true,
  level: request.risk,
  defaultToNo: request.default_to_no === true,
  ownLook: needsOwnLook(request),
  confirmed: false,
})

/** Reports whether a request may be approved together with others. */
export const batchable = (w: Waiting, role: Role | undefined): boolean =>
  obstacle('approve', factsOf(w, role), { by: 'batch', open: w.request.status === 'open' }) === null

/** Reports whether a request may be added to the selected ones, which must be of the same tool. */
export function mayJoin(w: Waiting, selected: readonly Waiting[], role: Role | undefined): boolean {
  return (
    batchable(w, role) &&
    selected.length < MAX_BATCH &&
    selected.every((s) => s.request.tool_name === w.request.tool_name)
  )
}

/** Returns the next id after id that is in left, or the first of left. id may no longer be in left. */
export function after(ids: readonly string[], id: string, left: readonly string[]): string | undefined {
  const later = ids.slice(ids.indexOf(id) + 1)
  return later.find((i) => left.includes(i)) ?? left[0]
}

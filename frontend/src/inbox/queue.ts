import type { Known } from '@/core/reducer'
import type { Level, Request } from '@/wsapi/messages.gen'

/** One line of the inbox. */
export interface Waiting {
  session: Known
  request: Request
}

export interface Filter {
  tool: string
  project: string
  risk: '' | Level
}

export const NO_FILTER: Filter = { tool: '', project: '', risk: '' }

export function matches({ session, request }: Waiting, f: Filter): boolean {
  return (f.tool === '' || request.tool_name === f.tool)
    && (f.project === '' || session.cwd === f.project)
    && (f.risk === '' || request.risk === f.risk)
}

/** The ids in the order shown: oldest first, what was put off after the rest. */
export function ordered(all: readonly Waiting[], snoozed: (requestID: string) => boolean): string[] {
  const ids = all.map((w) => w.request.request_id)
  return [...ids.filter((id) => !snoozed(id)), ...ids.filter(snoozed)]
}

/** The most that one confirmation approves: no more than a person reads. */
export const MOST = 20

/** Whether a request may be approved together with others: of low risk, as the server says, and answerable at once. */
export const batchable = (request: Request): boolean => request.risk === 'low' && request.status === 'open'

/** Whether a request may join those selected: they are of one tool. */
export function mayJoin(request: Request, selected: readonly Request[]): boolean {
  return batchable(request) && selected.length < MOST && selected.every((r) => r.tool_name === request.tool_name)
}

/** The id after another in a list that it may have left; the first when there is none. */
export function after(ids: readonly string[], id: string, left: readonly string[]): string | undefined {
  const later = ids.slice(ids.indexOf(id) + 1)
  return later.find((i) => left.includes(i)) ?? left[0]
}

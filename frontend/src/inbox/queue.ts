import type { Unit } from '@/pending/groups'
import type { Level } from '@/wire/messages.gen'

export interface Filter {
  tool: string
  project: string
  risk: '' | Level
}

export const NO_FILTER: Filter = { tool: '', project: '', risk: '' }

export function matches({ session, requests }: Pick<Unit, 'session' | 'requests'>, f: Filter): boolean {
  return (
    (f.tool === '' || requests.some((r) => r.tool_name === f.tool)) &&
    (f.project === '' || session.cwd === f.project) &&
    (f.risk === '' || requests.some((r) => r.risk === f.risk))
  )
}

/** Returns the ids in display order: oldest first, snoozed ones last. */
export function ordered(all: readonly Pick<Unit, 'id'>[], snoozed: (id: string) => boolean): string[] {
  const ids = all.map((u) => u.id)
  return [...ids.filter((id) => !snoozed(id)), ...ids.filter(snoozed)]
}

/** Returns the first of the ids in left that follows id in ids; without one, the first in left. */
export function after(ids: readonly string[], id: string, left: readonly string[]): string | undefined {
  const later = ids.slice(ids.indexOf(id) + 1)
  return later.find((i) => left.includes(i)) ?? left[0]
}

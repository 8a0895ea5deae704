import { t } from '@/i18n'
import { bytes } from '@/ui/numbers'
import type { Limits, LimitUse, ProjectUse } from '@/wire/messages.gen'
import { words } from './words'

/** taken describes the use of each limit that is set. */
export function taken({ limits, use }: { limits: Limits; use: ProjectUse }): string[] {
  const cost = limits.cost ?? 0
  return [
    ...(limits.sessions > 0 ? [words.usage.sessions(use.sessions, limits.sessions)] : []),
    ...(limits.memory > 0 ? [words.usage.memory(bytes(use.memory), bytes(limits.memory))] : []),
    ...(cost > 0 ? [words.usage.cost(t.session.cost(use.cost ?? 0), t.session.cost(cost))] : []),
  ]
}

/** full reports whether a limit is reached, so that nothing more may start. */
export const full = ({ limits, use }: LimitUse): boolean =>
  (limits.sessions > 0 && use.sessions >= limits.sessions) ||
  (limits.memory > 0 && use.memory >= limits.memory) ||
  ((limits.cost ?? 0) > 0 && (use.cost ?? 0) >= limits.cost!)

/** projectOf returns the project that a folder belongs to: of several, the one with the longest folder. */
export function projectOf<P extends { folders: readonly string[] }>(
  projects: readonly P[],
  folder: string,
): P | undefined {
  let found: P | undefined
  let longest = -1
  for (const p of projects)
    for (const f of p.folders)
      if (f.length > longest && (folder === f || folder.startsWith(`${f}/`))) [found, longest] = [p, f.length]
  return found
}

export const MB = 1 << 20
/** typed returns a limit for a form field, '' for none. */
export const typed = (n: number | undefined) => (n !== undefined && n > 0 ? String(n) : '')

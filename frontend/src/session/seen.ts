import { shallowRef } from 'vue'
import { useStored } from '@/browser/useStored'
import { onOwner, ownKey } from '@/connection/owner'

// The read position of each session, on this device.

const MAX_SESSIONS = 300

type Seen = Readonly<Record<string, readonly [seq: number, at: number]>>

const stored = useStored<Seen>(
  () => ownKey('seen'),
  {},
  (text) => {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Seen) : undefined
  },
)

// New items that are on the screen count as seen at once, and are stored a little later.
const looked = shallowRef<Seen>({})
onOwner(() => (looked.value = {}))

function latest(id: string): readonly [seq: number, at: number] | undefined {
  const [a, b] = [stored.value[id], looked.value[id]]
  return a && b ? (b[1] >= a[1] ? b : a) : (a ?? b)
}

/**
 * seenOf returns the last seq that was on the screen, and when, in ms; null for a session that was
 * never open here.
 */
export function seenOf(id: string): { seq: number; at: number } | null {
  const [seq, at] = stored.value[id] ?? []
  return typeof seq === 'number' && typeof at === 'number' ? { seq, at } : null
}

/** look records that the person has seen a session up to seq, without storing it. */
export function look(id: string, seq: number, at = Date.now()): void {
  if (latest(id)?.[0] !== seq) looked.value = { ...looked.value, [id]: [seq, at] }
}

export function setSeen(id: string, seq: number, at: number): void {
  look(id, seq, at)
  const all = Object.entries({ ...stored.value, [id]: [seq, at] as const })
  stored.value = Object.fromEntries(all.toSorted((a, b) => b[1][1] - a[1][1]).slice(0, MAX_SESSIONS))
}

/** known reports whether a session was ever open here. */
export const known = (id: string): boolean => latest(id) !== undefined

/**
 * unseen returns how many blocks of a session nobody has seen here, of those that the server has
 * reported.
 */
export const unseen = (s: { session_id: string; items?: number }): number =>
  Math.max(0, (s.items ?? 0) - (Number(latest(s.session_id)?.[0]) || 0))

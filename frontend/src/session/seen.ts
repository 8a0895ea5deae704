import { shallowRef } from 'vue'
import { onOwner, ownKey } from '@/connection/owner'

// How far a person has read each session, on this device.

const key = () => ownKey('seen')
const KEPT = 300

type Seen = Record<string, [seq: number, at: number]>

function read(): Seen {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key()) ?? '{}')
    return typeof kept === 'object' && kept !== null ? (kept as Seen) : {}
  } catch {
    return {}
  }
}

// What is read while it comes is seen at once, and kept a little later.
const seen = shallowRef<Seen>(read())
onOwner(() => (seen.value = read()))
addEventListener('storage', (ev) => {
  if (ev.key === key()) seen.value = { ...seen.value, ...read() }
})

/** The last seq that was on the screen, and when, in ms; null for a session that was never open here. */
export function seenOf(id: string): { seq: number; at: number } | null {
  const [seq, at] = read()[id] ?? []
  return typeof seq === 'number' && typeof at === 'number' ? { seq, at } : null
}

/** Notes that a person looks at a session up to seq; not kept. */
export function look(id: string, seq: number, at = Date.now()): void {
  if (seen.value[id]?.[0] !== seq) seen.value = { ...seen.value, [id]: [seq, at] }
}

export function setSeen(id: string, seq: number, at: number): void {
  look(id, seq, at)
  const kept = Object.entries({ ...read(), [id]: [seq, at] as [number, number] })
    .toSorted((a, b) => b[1][1] - a[1][1])
    .slice(0, KEPT)
  try {
    localStorage.setItem(key(), JSON.stringify(Object.fromEntries(kept)))
  } catch {
    // Without storage nobody is told what they missed.
  }
}

/** Whether a session was ever open here. */
export const known = (id: string): boolean => id in seen.value

/** How many blocks a session has that nobody has looked at here, as far as the server last told. */
export const unseen = (s: { session_id: string; items?: number }): number =>
  Math.max(0, (s.items ?? 0) - (Number(seen.value[s.session_id]?.[0]) || 0))

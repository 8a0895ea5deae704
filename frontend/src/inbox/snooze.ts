import { reactive } from 'vue'
import { onOwner, ownKey } from '@/connection/owner'

const key = () => ownKey('snoozed')
const SNOOZE_MS = 10 * 60_000

// Until when, by request_id. It holds in this browser alone: nobody else waits
// longer because one person looks away.
const until = reactive(new Map<string, number>(read()))
onOwner(() => {
  until.clear()
  for (const [id, at] of read()) until.set(id, at)
})

function read(): [string, number][] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(key()) ?? '[]')
    if (!Array.isArray(list)) return []
    return list.filter(
      (e): e is [string, number] =>
        Array.isArray(e) && typeof e[0] === 'string' && typeof e[1] === 'number' && e[1] > Date.now(),
    )
  } catch {
    return []
  }
}

function keep() {
  try {
    localStorage.setItem(key(), JSON.stringify([...until]))
  } catch {
    // It holds as long as the page then.
  }
}

export const snoozedUntil = (requestID: string, now: number): number | null => {
  const at = until.get(requestID)
  return at !== undefined && at > now ? at : null
}

/** Puts a request off, or takes that back. */
export function snooze(requestID: string, now: number): boolean {
  const off = snoozedUntil(requestID, now) === null
  if (off) until.set(requestID, now + SNOOZE_MS)
  else until.delete(requestID)
  for (const [id, at] of until) if (at <= now) until.delete(id)
  keep()
  return off
}

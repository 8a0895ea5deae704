import { ownKey } from '@/connection/owner'
import { keyHeaders } from '@/connection/pagekey'
import { call, RefusedError } from '@/connection/rest'
import type { BookmarkChange, BookmarkList, BookmarksChange } from '@/wire/messages.gen'
import { seenOf } from './seen'

// Writes the bookmarks of the person. What becomes of them comes back to all tabs in a frame.

/** How long after a read position the next one may be written, in ms. */
export const READ_EVERY_MS = 10_000
/** The time of a read position is written again when a session is left after so many ms. */
const REWRITE_MS = 60_000

const change = (bookmarks: BookmarkChange[]) =>
  call<BookmarkList>('PATCH', '/api/bookmarks', { bookmarks } satisfies BookmarksChange)

/** Pins or unpins a session. */
export const pin = (id: string, pinned: boolean): Promise<BookmarkList> => change([{ session_id: id, pinned }])

/**
 * markRead stores that the person has read a session up to seq. It writes nothing that is stored
 * already; leaving also stores the time. An error is ignored: the next position is a newer one.
 */
export function markRead(id: string, seq: number, leaving: boolean): void {
  const seen = seenOf(id)
  if (seen && seen.seq >= seq && !(leaving && Date.now() - seen.at >= REWRITE_MS)) return
  // A page that closes sends it still.
  fetch('/api/bookmarks', {
    method: 'PATCH',
    keepalive: true,
    credentials: 'same-origin',
    headers: { 'Content-Type': 'application/json', ...keyHeaders() },
    body: JSON.stringify({ bookmarks: [{ session_id: id, seen: seq }] } satisfies BookmarksChange),
  }).catch(() => null)
}

/** Hands the read positions that earlier versions kept in this browser over to the server, once. */
export async function moveReadPositions(): Promise<void> {
  const key = ownKey('seen')
  try {
    const kept = Object.entries(JSON.parse(localStorage.getItem(key) ?? '{}') as Record<string, [number, number]>)
    if (kept.length > 0)
      await change(
        kept.slice(0, 300).map(([id, [seq, at]]) => ({ session_id: id, seen: Math.trunc(seq), seen_at: at / 1000 })),
      )
    localStorage.removeItem(key)
  } catch (err) {
    // What cannot be read, or is of sessions that are gone, is of no use; all else is tried again.
    const useless = err instanceof SyntaxError || err instanceof TypeError
    if (useless || (err instanceof RefusedError && [400, 404].includes(err.status))) localStorage.removeItem(key)
  }
}

import { ownKey } from '@/connection/owner'
import { keyHeaders } from '@/connection/pagekey'
import { call, RefusedError } from '@/connection/rest'
import type { BookmarkChange, BookmarkList, BookmarksChange } from '@/wire/messages.gen'
import { seenOf } from './seen'

// Writes the bookmarks of the person. All tabs receive the result in a frame.

/** How long after a read position the next one may be written, in ms. */
export const READ_EVERY_MS = 10_000
/** When a session is left, its read position is written again if its time is older than this, in ms. */
const REWRITE_MS = 60_000

const change = (bookmarks: BookmarkChange[]) =>
  call<BookmarkList>('PATCH', '/api/bookmarks', { bookmarks } satisfies BookmarksChange)

/** Pins or unpins a session. */
export const pin = (id: string, pinned: boolean): Promise<BookmarkList> => change([{ session_id: id, pinned }])

/**
 * markRead stores that the person has read a session up to seq, unless that is already stored; leaving also
 * stores the time. Errors are ignored, because a newer position follows.
 */
export function markRead(id: string, seq: number, leaving: boolean): void {
  const seen = seenOf(id)
  if (seen && seen.seq >= seq && !(leaving && Date.now() - seen.at >= REWRITE_MS)) return
  // keepalive also sends it while the page closes.
  fetch('/api/bookmarks', {
    method: 'PATCH',
    keepalive: true,
    credentials: 'same-origin',
    headers: { 'Content-Type': 'application/json', ...keyHeaders() },
    body: JSON.stringify({ bookmarks: [{ session_id: id, seen: seq }] } satisfies BookmarksChange),
  }).catch(() => null)
}

/** Moves the read positions that earlier versions stored in this browser to the server, once. */
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
    // Drops positions that cannot be read or belong to deleted sessions; any other error is retried.
    const useless = err instanceof SyntaxError || err instanceof TypeError
    if (useless || (err instanceof RefusedError && [400, 404].includes(err.status))) localStorage.removeItem(key)
  }
}

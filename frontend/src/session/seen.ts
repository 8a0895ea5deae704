import { shallowRef } from 'vue'
import { onOwner } from '@/connection/owner'
import { useSessions } from '@/state/sessions'

// How far the person has read each session: their bookmarks, which all devices share, and what this tab has
// shown since.

const viewed = shallowRef<ReadonlyMap<string, number>>(new Map())
onOwner(() => (viewed.value = new Map()))

const bookmark = (id: string) => useSessions().state.bookmarks?.get(id)

/**
 * seenOf returns the seq of the last item that the person has read, and when that was, in ms of this
 * machine's clock; null for a session that they never opened.
 */
export function seenOf(id: string): { seq: number; at: number } | null {
  const b = bookmark(id)
  return b && b.seen > 0 ? { seq: b.seen, at: (b.seen_at - useSessions().state.skew) * 1000 } : null
}

/** markViewed records that the person has seen a session up to seq, only in this tab. */
export function markViewed(id: string, seq: number): void {
  if ((viewed.value.get(id) ?? 0) < seq) viewed.value = new Map(viewed.value).set(id, seq)
}

/** known reports whether the person has ever opened a session. */
export const known = (id: string): boolean => viewed.value.has(id) || (bookmark(id)?.seen ?? 0) > 0

/**
 * unseen returns how many blocks of a session the person has not seen, of those that the server has
 * reported. It is 0 until the bookmarks have arrived.
 */
export function unseen(s: { session_id: string; items?: number }): number {
  const { bookmarks } = useSessions().state
  if (!bookmarks) return 0
  const seen = Math.max(bookmarks.get(s.session_id)?.seen ?? 0, viewed.value.get(s.session_id) ?? 0)
  return Math.max(0, (s.items ?? 0) - seen)
}

/** pinnedAt returns when the person pinned a session, in Unix seconds; null if it is not pinned. */
export const pinnedAt = (id: string): number | null => bookmark(id)?.pinned_at ?? null

import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, expect, test, vi } from 'vitest'
import { setOwner } from '@/connection/owner'
import { useSessions } from '@/state/sessions'
import type { Bookmark } from '@/wire/messages.gen'
import { markRead, moveReadPositions } from './bookmarks'
import { known, markViewed, pinnedAt, seenOf, unseen } from './seen'

const apply = (...bookmarks: Bookmark[]) =>
  useSessions().apply([{ type: 'bookmarks', bookmarks }], { now: Date.now(), commandOf: () => undefined })
const bookmark = (at: number, more: Partial<Bookmark> = {}): Bookmark => ({
  session_id: 'a',
  pinned_at: null,
  seen: 0,
  seen_at: 0,
  at,
  ...more,
})
const sent = vi.fn<(body: unknown) => void>()

beforeEach(() => {
  localStorage.clear()
  setActivePinia(createPinia())
  sent.mockReset()
  vi.spyOn(globalThis, 'fetch').mockImplementation((_, init) => {
    sent(JSON.parse(String(init!.body)))
    return Promise.resolve(new Response('{"bookmarks":[]}'))
  })
})

test('the newer of two bookmarks counts, in any order', () => {
  expect(unseen({ session_id: 'a', items: 9 })).toBe(0)
  apply(bookmark(2, { pinned_at: 1, seen: 5, seen_at: 1 }))
  apply(bookmark(1), bookmark(1, { session_id: 'b', seen: 1 }))
  expect([pinnedAt('a'), unseen({ session_id: 'a', items: 9 }), known('b'), known('c')]).toEqual([1, 4, true, false])
  markViewed('a', 7)
  markViewed('a', 6)
  expect([unseen({ session_id: 'a', items: 9 }), seenOf('a')?.seq]).toEqual([2, 5])
  setOwner('somebody else')
  expect(unseen({ session_id: 'a', items: 9 })).toBe(4)
})

test('a read position is written when it is new, and its time when the session is left', () => {
  vi.useFakeTimers({ now: 1_000_000_000 })
  apply(bookmark(1, { seen: 5, seen_at: 1_000_000 }))
  markRead('a', 5, false)
  markRead('a', 4, true)
  expect(sent).not.toHaveBeenCalled()
  markRead('a', 6, false)
  expect(sent).toHaveBeenLastCalledWith({ bookmarks: [{ session_id: 'a', seen: 6 }] })
  vi.setSystemTime(1_000_060_000)
  markRead('a', 5, false)
  expect(sent).toHaveBeenCalledTimes(1)
  markRead('a', 5, true)
  expect(sent).toHaveBeenCalledTimes(2)
  vi.useRealTimers()
})

test('positions stored in this browser are moved to the server once', async () => {
  setOwner('u')
  localStorage.setItem('sayso:seen:u', JSON.stringify({ a: [3, 5_000], b: [1, 6_000] }))
  await moveReadPositions()
  await moveReadPositions()
  expect(sent.mock.calls).toEqual([
    [
      {
        bookmarks: [
          { session_id: 'a', seen: 3, seen_at: 5 },
          { session_id: 'b', seen: 1, seen_at: 6 },
        ],
      },
    ],
  ])
})

test.each([
  ['what is no position', 'x', 200, null],
  ['sessions that are gone', '{"a":[3,1]}', 404, null],
  ['a server that fails', '{"a":[3,1]}', 503, '{"a":[3,1]}'],
])('they are kept for another attempt only if that can succeed: %s', async (_, kept, status, left) => {
  setOwner('u')
  localStorage.setItem('sayso:seen:u', kept)
  vi.mocked(fetch).mockResolvedValue(new Response('{}', { status }))
  await moveReadPositions()
  expect(localStorage.getItem('sayso:seen:u')).toBe(left)
})

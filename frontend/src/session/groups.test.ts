import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, expect, test } from 'vitest'
import type { SessionState } from '@/state/reducer'
import { useSessions } from '@/state/sessions'
import type { Request } from '@/wire/messages.gen'
import { byFolder } from './groups'
import { markViewed } from './seen'

beforeEach(() => {
  setActivePinia(createPinia())
  pins()
})
/** Pins sessions in this order. */
function pins(...sessions: string[]) {
  const bookmarks = sessions.map((session_id, i) => ({ session_id, pinned_at: i + 1, seen: 0, seen_at: 0, at: 1 }))
  useSessions().apply([{ type: 'bookmarks', bookmarks }], { now: 1, commandOf: () => undefined })
}

const session = (session_id: string, more: Partial<SessionState> = {}): SessionState =>
  ({
    session_id,
    state: 'assistant_turn',
    state_changed_at: 1,
    updated_at: 1,
    cwd: '/srv/shop',
    node_id: 'atlas',
    pending_requests: [],
    ...more,
  }) as SessionState
const asks = (created_at: number) => [{ created_at } as Request]
const ids = (sessions: SessionState[]) => byFolder(sessions).folders.map((f) => f.ids)

test('waiting sessions come first, the longest waiting at the top, whatever the process does', () => {
  expect(
    ids([
      session('late', { pending_requests: asks(9) }),
      session('runs'),
      session('orphaned', { state: 'dead', pending_requests: asks(2) }),
    ]),
  ).toEqual([['orphaned', 'late', 'runs']])
})

test('a session whose turn has ended is idle once that was seen', () => {
  markViewed('seen', 4)
  markViewed('once', 4)
  expect(
    ids([
      session('empty', { state: 'user_turn' }),
      session('seen', { state: 'user_turn', items: 4 }),
      session('once', { state: 'user_turn', items: 5 }),
      session('never', { state: 'user_turn', items: 1 }),
      session('runs'),
    ]),
  ).toEqual([['runs', 'never', 'once', 'empty', 'seen']])
})

test('the others are sorted newest first', () => {
  expect(
    byFolder([
      session('a', { state: 'user_turn', state_changed_at: 1, items: 1 }),
      session('b', { state: 'user_turn', state_changed_at: 2, items: 1 }),
      session('c', { state: 'dead', updated_at: 5 }),
      session('d', { state: 'dead', updated_at: 6 }),
    ]),
  ).toMatchObject({ folders: [{ ids: ['b', 'a'] }], ended: ['d', 'c'] })
})

test('an ended session stays in its folder until it was read, and leaves the list when it is archived', () => {
  markViewed('read', 4)
  markViewed('unread', 4)
  expect(
    byFolder([
      session('read', { state: 'dead', items: 4 }),
      session('unread', { state: 'dead', items: 5 }),
      session('history', { state: 'dead', items: 9 }),
      session('archived', { state: 'dead', archived: true }),
      session('asks', { state: 'dead', archived: true, pending_requests: asks(1) }),
    ]),
  ).toMatchObject({ folders: [{ ids: ['asks', 'unread'] }], ended: ['history', 'read'] })
})

test('folders are separated by path and machine, sorted by name', () => {
  expect(
    byFolder([
      session('s', { cwd: '/srv/shop' }),
      session('b', { cwd: '/srv/billing' }),
      session('other', { cwd: '/home/ada/shop' }),
      session('far', { cwd: '/srv/shop', node_id: 'build-02' }),
    ]).folders.map((f) => [f.cwd, f.node, ...f.ids]),
  ).toEqual([
    ['/srv/billing', 'atlas', 'b'],
    ['/home/ada/shop', 'atlas', 'other'],
    ['/srv/shop', 'atlas', 's'],
    ['/srv/shop', 'build-02', 'far'],
  ])
})

test('pinned sessions are separate, in the order of pinning, unless they are archived', () => {
  pins('over', 'archived', 'runs')
  expect(
    byFolder([
      session('runs'),
      session('other'),
      session('over', { state: 'dead' }),
      session('archived', { state: 'dead', archived: true }),
    ]),
  ).toMatchObject({ pinned: ['over', 'runs'], folders: [{ ids: ['other'] }], ended: [] })
})

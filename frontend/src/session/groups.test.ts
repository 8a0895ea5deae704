import { expect, test } from 'vitest'
import type { SessionState } from '@/state/reducer'
import type { Request } from '@/wire/messages.gen'
import { grouped } from './groups'
import { look } from './seen'

const session = (session_id: string, more: Partial<SessionState>): SessionState =>
  ({
    session_id,
    state: 'assistant_turn',
    state_changed_at: 1,
    updated_at: 1,
    pending_requests: [],
    ...more,
  }) as SessionState
const asks = (created_at: number) => [{ created_at } as Request]

test('who waits comes first, longest first, whatever the process does', () => {
  expect(
    grouped([
      session('late', { pending_requests: asks(9) }),
      session('orphaned', { state: 'dead', pending_requests: asks(2) }),
      session('runs', {}),
    ]),
  ).toMatchObject({ waiting: ['orphaned', 'late'], running: ['runs'] })
})

test('whose turn ended is idle once that was seen', () => {
  look('seen', 4)
  look('once', 4)
  expect(
    grouped([
      session('seen', { state: 'user_turn', items: 4 }),
      session('once', { state: 'user_turn', items: 5 }),
      session('never', { state: 'user_turn', items: 1 }),
      session('asks', { state: 'user_turn', items: 9, pending_requests: asks(3) }),
      session('over', { state: 'dead', items: 9 }),
      session('empty', { state: 'user_turn' }),
    ]),
  ).toEqual({ waiting: ['asks'], running: [], your_turn: ['never', 'once'], idle: ['empty', 'seen'], ended: ['over'] })
})

test('the rest is newest first', () => {
  expect(
    grouped([
      session('a', { state: 'user_turn', state_changed_at: 1, items: 1 }),
      session('b', { state: 'user_turn', state_changed_at: 2, items: 1 }),
      session('c', { state: 'dead', updated_at: 5 }),
      session('d', { state: 'dead', updated_at: 6 }),
      session('e', { state: 'starting' }),
    ]),
  ).toEqual({ waiting: [], running: ['e'], your_turn: ['b', 'a'], idle: [], ended: ['d', 'c'] })
})

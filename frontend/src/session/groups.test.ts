import { expect, test } from 'vitest'
import type { Known } from '@/core/reducer'
import type { Request } from '@/wsapi/messages.gen'
import { grouped } from './groups'

const session = (session_id: string, more: Partial<Known>): Known =>
  ({ session_id, state: 'assistant_turn', state_changed_at: 1, updated_at: 1, pending_requests: [], ...more }) as Known
const asks = (created_at: number) => [{ created_at } as Request]

test('who waits comes first, longest first, whatever the process does', () => {
  expect(grouped([
    session('late', { pending_requests: asks(9) }), session('orphaned', { state: 'dead', pending_requests: asks(2) }),
    session('runs', {}),
  ])).toMatchObject({ waiting: ['orphaned', 'late'], running: ['runs'] })
})

test('the rest is newest first', () => {
  expect(grouped([
    session('a', { state: 'user_turn', state_changed_at: 1 }), session('b', { state: 'user_turn', state_changed_at: 2 }),
    session('c', { state: 'dead', updated_at: 5 }), session('d', { state: 'dead', updated_at: 6 }), session('e', { state: 'starting' }),
  ])).toEqual({ waiting: [], running: ['e'], your_turn: ['b', 'a'], ended: ['d', 'c'] })
})

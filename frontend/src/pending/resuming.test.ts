// @vitest-environment node
import { expect, test } from 'vitest'
import type { SessionState } from '@/state/reducer'
import type { Request } from '@/wire/messages.gen'
import { resumingOf } from './resuming'

const LEFT = 1_000_000
const left = (status: Request['status'] = 'orphaned') => ({ request: { status } as Request, closed_at: LEFT })
const session = (state: SessionState['state'], changed = 900) => ({ state, state_changed_at: changed })

test('a dead session is resumed with the answer, and soon says so', () => {
  expect(resumingOf(left(), session('dead'), LEFT + 1_000, 0)).toBe('resuming')
  expect(resumingOf(left(), session('starting', 1001), LEFT + 60_000, 0)).toBe('resuming')
})

test('an answer that resumed no session is kept', () => {
  expect(resumingOf(left(), session('dead'), LEFT + 15_000, 0)).toBe('kept')
})

test('a session that died again is not being resumed', () => {
  expect(resumingOf(left(), session('dead', 1_002), LEFT + 3_000, 0)).toBe('kept')
})

test('the server’s clock decides which event was later', () => {
  expect(resumingOf(left(), session('dead', 1_002), LEFT + 3_000, 60)).toBe('resuming')
})

test.each(['assistant_turn', 'user_turn'] as const)('nothing is shown in %s', (state) => {
  expect(resumingOf(left(), session(state), LEFT, 0)).toBeNull()
})

test('an answer to a running process resumes nothing', () => {
  expect(resumingOf(left('open'), session('dead'), LEFT, 0)).toBeNull()
})

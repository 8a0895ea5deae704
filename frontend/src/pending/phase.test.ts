// @vitest-environment node
import { expect, test } from 'vitest'
import type { Entry } from '@/wire/commands'
import type { Ack } from '@/wire/messages.gen'
import { phaseOf } from './phase'

const entry = (sent_at: number | null): Entry => ({
  created_at: 0,
  sent_at,
  command: {
    type: 'pending_request_response',
    command_id: 'c',
    session_id: 's',
    request_id: 'r',
    request_type: 'tool_approval',
  },
})
const ack = (result: Ack['result'], message = ''): Ack => ({
  type: 'ack',
  command_id: 'c',
  result,
  ...(message ? { error: { code: 'x', message } } : {}),
})

test.each([
  ['nothing sent', [], undefined, true, { kind: 'open', refused: null }],
  ['on its way', [entry(900)], undefined, true, { kind: 'sending' }],
  ['no word for five seconds', [entry(-4001)], undefined, true, { kind: 'unconfirmed' }],
  ['no connection, never sent', [entry(null)], undefined, false, { kind: 'queued', cancellable: true }],
  ['no connection, sent before', [entry(900)], undefined, false, { kind: 'queued', cancellable: false }],
  ['applied, and the state still shows it', [], ack('applied'), true, { kind: 'taken' }],
  ['another was first', [], ack('already_resolved'), true, { kind: 'late' }],
  ['no longer open', [], ack('stale'), true, { kind: 'late' }],
  ['refused', [], ack('rejected', 'Answer q1.'), true, { kind: 'open', refused: 'Answer q1.' }],
  ['sent again after a refusal', [entry(900)], ack('rejected'), true, { kind: 'sending' }],
] as const)('%s', (_, entries, acked, connected, want) => {
  expect(phaseOf('r', entries, acked, connected, 1000)).toMatchObject(want)
})

test('ignores the answer to another request', () => {
  expect(phaseOf('other', [entry(900)], undefined, true, 1000)).toEqual({ kind: 'open', refused: null })
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Item, ProcessState, Request, Transcript } from './wire/messages.gen'

// Frames about a process that died, derived from the golden frames of the Go tests, so that they match the
// protocol.
export function golden<T>(name: string): T {
  return JSON.parse(
    readFileSync(join(import.meta.dirname, '../../wire/testdata/messages', name + '.json'), 'utf8'),
  ) as T
}

const asking = () => golden<ProcessState>('process_state.many_requests')
const approval = () => asking().pending_requests.find((r) => r.tool_name === 'Bash')!
const question = () => asking().pending_requests.find((r) => r.tool_name === 'AskUserQuestion')!
const state = (more: Partial<ProcessState>): ProcessState => {
  const requests = more.pending_requests ?? []
  return {
    ...golden<ProcessState>('process_state.dead'),
    ...more,
    pending_requests: requests,
    ...(requests[0] ? { pending_request: requests[0] } : {}),
  }
}

/** The process died with an approval and a question open; both can be answered. */
export const orphaned = (version = 50): ProcessState =>
  state({
    version,
    state: 'dead',
    pending_requests: [approval(), question()].map((r): Request => ({ ...r, status: 'orphaned' })),
  })

/** After the resume, Claude asks for another command than the one that was approved. */
export const askedDifferently = (version = 52): ProcessState =>
  state({
    version,
    state: 'assistant_turn',
    error: null,
    pending_requests: [
      {
        ...approval(),
        request_id: '44444444-4444-5444-8444-444444444444',
        input_hash: 'sha256:other',
        tool_input: { command: 'rm -rf build/cache', description: 'Clean up' },
        earlier: {
          request_id: approval().request_id,
          tool_input: { command: 'rm -rf build', description: 'Clean up' },
          outcome: 'answered',
          summary: 'Approved',
          by: 'Ada',
          at: approval().created_at + 4,
        },
      },
    ],
  })

/** A question that was answered for the process that died, and is now asked in another form. */
export const questionAskedDifferently = (version = 52): ProcessState =>
  state({
    version,
    state: 'assistant_turn',
    error: null,
    pending_requests: [
      {
        ...question(),
        request_id: '55555555-5555-5555-8555-555555555555',
        input_hash: 'sha256:form',
        draft: null,
        earlier: {
          request_id: question().request_id,
          outcome: 'denied',
          summary: 'Declined: decide yourself',
          by: null,
          at: question().created_at + 4,
          tool_input: { questions: [{ question: 'Which form?', options: [{ label: 'Short' }, { label: 'Long' }] }] },
        },
      },
    ],
  })

export const notPickedUp = (version = 53): ProcessState =>
  state({
    version,
    state: 'assistant_turn',
    error: null,
    stuck:
      'Claude has not picked up the answer to Bash, which was delivered at 14:02:07 UTC. If this lasts, kill the session and resume it.',
  })

/** The record of an answer that was carried over. */
export function carried(by = 'Ada'): Transcript {
  const frame = golden<Transcript>('transcript')
  const record = frame.items.find((it) => it.kind === 'resolved')!
  return { ...frame, items: [{ ...record, carried: true, by } as Item] }
}

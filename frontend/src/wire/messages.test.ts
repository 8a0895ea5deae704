// @vitest-environment node
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { empty, reduce } from '@/state/reducer'
import type { Ack, Command, PendingRequestResponse, ServerFrame } from './messages.gen'

// The same files that the Go tests write and read.
const folder = join(import.meta.dirname, '../../../wire/testdata/messages')
const golden = new Map(
  readdirSync(folder).map((name) => [
    name.replace(/\.json$/, ''),
    JSON.parse(readFileSync(join(folder, name), 'utf8')),
  ]),
)
const frame = <T = ServerFrame>(name: string): T => {
  const found = golden.get(name)
  if (!found) throw new Error(`no golden message ${name}`)
  return found as T
}
const context = { now: 1_763_692_800_000, commandOf: () => undefined }

describe('golden frames', () => {
  const types = [
    'hello',
    'active_processes',
    'process_state',
    'transcript',
    'live_append',
    'bookmarks',
    'draft',
    'batch',
    'ack',
    'presence',
    'lifecycle',
    'notice',
    'machines',
    'toasts',
    'error',
  ]
  const frames = [...golden].filter(([name]) => !name.startsWith('command.'))

  test('every kind is covered', () => {
    expect([...new Set(frames.map(([, f]) => f.type))].toSorted()).toEqual(types.toSorted())
  })

  test.each(frames)('%s is understood', (_, f) => {
    expect(types).toContain(f.type)
    expect(() => reduce(empty, f, context)).not.toThrow()
  })

  test('hello identifies the server', () => {
    expect(reduce(empty, frame('hello'), context)).toMatchObject({ user: { name: 'ada', role: 'admin' }, skew: 0.25 })
  })

  test('several requests at once are all shown, oldest first', () => {
    const state = reduce(empty, frame('process_state.many_requests'), context)
    const [s] = state.sessions.values()
    expect(s?.pending_requests.map((r) => r.request_type)).toEqual([
      'tool_approval',
      'ask_user_question',
      'ask_user_question',
    ])
    expect(s?.pending_requests[1]?.form?.questions.map((q) => q.kind)).toEqual(['select', 'multi_select'])
  })

  test('a batch contains its frames', () => {
    const state = reduce(reduce(empty, frame('transcript'), context), frame('batch'), context)
    expect(state.sessions.size).toBe(1)
    expect([...state.transcripts.values()][0]?.live?.text).toBe('I am just sa')
  })

  test('the transcript contains every kind of item', () => {
    const state = reduce(empty, frame('transcript'), context)
    const [script] = state.transcripts.values()
    expect(script?.items.map((it) => it.kind).toSorted()).toEqual([
      'note',
      'plan',
      'resolved',
      'result',
      'subagent',
      'text',
      'text',
      'thinking',
      'todo',
      'tool_call',
      'user',
    ])
    expect(script?.cursor).toBe(11)
    expect(state.resolutions.get('11111111-1111-5111-8111-111111111111')).toMatchObject({
      outcome: 'answered',
      by: 'ada',
    })
  })

  test('a deleted session is not restored', () => {
    let state = reduce(empty, frame('process_state.idle'), context)
    state = reduce(state, frame('process_state.deleted'), context)
    state = reduce(state, frame('process_state.idle'), context)
    expect([...state.sessions.values()][0]?.deleted).toBe(true)
  })

  test('a notice lasts until it is withdrawn, or until a connection without one', () => {
    const told = reduce(empty, frame('notice'), context)
    expect(told.notice?.message).toBe('The disk of the server is full.')
    expect(reduce(told, frame('process_state.idle'), context).notice).toBe(told.notice)
    for (const end of ['notice.none', 'hello']) expect(reduce(told, frame(end), context).notice?.message ?? '').toBe('')
  })

  test('an acknowledgment names who was first', () => {
    expect(frame<Ack>('ack.already_resolved')).toMatchObject({
      result: 'already_resolved',
      resolved: { outcome: 'denied', by: 'grace' },
    })
  })
})

describe('golden commands', () => {
  test.each([...golden].filter(([name]) => name.startsWith('command.')))('%s carries a command_id', (_, c) => {
    expect((c as Command).command_id).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('an answer contains exactly the fields that the web app sends', () => {
    const allow = frame<PendingRequestResponse>('command.pending_request_response.allow')
    expect(Object.keys(allow).toSorted()).toEqual([
      'command_id',
      'decision',
      'input_hash',
      'request_id',
      'request_type',
      'session_id',
      'type',
    ])
  })
})

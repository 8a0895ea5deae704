import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { useSessions } from '@/state/sessions'
import { golden } from '@/testframes'
import type { Command, Hello, Live, ProcessState, ServerFrame } from '@/wire/messages.gen'
import { createSocket } from './socket'
import { onTrustRequired, type Consent } from './trust'

const asked = vi.fn<() => Promise<Consent | null>>()
onTrustRequired(asked)

type Sent = Command & Record<string, unknown>

class FakeSocket {
  static all: FakeSocket[] = []
  onmessage: ((ev: MessageEvent) => void) | null = null
  onclose: ((ev: CloseEvent) => void) | null = null
  sent: Sent[] = []
  constructor(readonly url: string) {
    FakeSocket.all.push(this)
  }
  send(text: string) {
    this.sent.push(JSON.parse(text))
  }
  close() {}
  receive(frame: ServerFrame) {
    this.onmessage?.({ data: JSON.stringify(frame) } as MessageEvent)
  }
  hello(more: Partial<Hello> = {}) {
    this.receive({
      type: 'hello',
      protocol: 1,
      server_version: '1',
      node_id: 'n',
      user: { name: 'ada', role: 'admin' },
      server_time: 1,
      ...more,
    })
  }
  of(type: Command['type']) {
    return this.sent.filter((c) => c.type === type)
  }
}
const last = () => FakeSocket.all.at(-1)!
const answer = { session_id: 's', request_id: 'r', request_type: 'tool_approval', decision: 'allow' } as const

let store: ReturnType<typeof useSessions>
let socket: ReturnType<typeof createSocket>

beforeEach(() => {
  vi.useFakeTimers()
  sessionStorage.clear()
  FakeSocket.all = []
  vi.stubGlobal('WebSocket', FakeSocket)
  vi.stubGlobal(
    'fetch',
    vi.fn(async () => new Response('{"sessions":[],"next":null}')),
  )
  setActivePinia(createPinia())
  store = useSessions()
  socket = createSocket(store)
  socket.start()
})
afterEach(() => {
  socket.stop()
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

function reconnect(code = 1006) {
  last().onclose?.({ code } as CloseEvent)
  vi.advanceTimersByTime(15_000)
}

test('the address is that of the page and contains no secret', () => {
  expect(last().url).toBe('ws://localhost:3000/ws')
})

describe('an answer', () => {
  test('is sent at once and settled by its acknowledgment', () => {
    last().hello()
    socket.answer(answer)
    const [sent] = last().of('pending_request_response')
    expect(sent).toMatchObject(answer)
    last().receive({ type: 'ack', command_id: sent!.command_id, result: 'applied' })
    expect(store.outbox).toEqual([])
    expect(store.state.acks.get('r')?.result).toBe('applied')
  })

  test('is sent again with the same id until it is acknowledged', () => {
    last().hello()
    socket.answer(answer)
    const [first] = last().of('pending_request_response')
    reconnect()
    last().hello()
    expect(last().of('pending_request_response')).toEqual([first])
    last().receive({ type: 'ack', command_id: first!.command_id, result: 'applied' })
    reconnect()
    last().hello()
    expect(last().of('pending_request_response')).toEqual([])
  })

  test('given offline is sent after the hello, also after a reload', () => {
    socket.answer(answer)
    expect(last().sent).toEqual([])
    socket.stop()
    setActivePinia(createPinia())
    const next = createSocket(useSessions())
    next.start()
    last().hello()
    expect(last().of('pending_request_response')).toHaveLength(1)
    next.stop()
  })

  test('is not sent again by a second press', () => {
    last().hello()
    socket.answer(answer)
    socket.answer({ ...answer, decision: 'deny' })
    expect(last().of('pending_request_response')).toHaveLength(1)
  })

  test('is settled when several acknowledgments come in one batch', () => {
    last().hello()
    socket.answer(answer)
    socket.answer({ ...answer, request_id: 'r2' })
    last().receive({
      type: 'batch',
      frames: last()
        .of('pending_request_response')
        .map((c) => ({ type: 'ack', command_id: c.command_id, result: 'applied' })),
    })
    expect([...store.state.acks.keys()]).toEqual(['r', 'r2'])
    expect(store.outbox).toEqual([])
  })
})

describe('a transcript', () => {
  test('is resumed from its cursor after a loss, and can be unsubscribed', () => {
    last().hello()
    const leave = socket.follow('s')
    expect(last().of('subscribe')).toMatchObject([{ session_id: 's', after: 0 }])
    last().receive({ type: 'transcript', session_id: 's', from: 0, next: 7, items: [], total: 7, live: null })
    reconnect()
    last().hello()
    expect(last().of('subscribe')).toMatchObject([{ session_id: 's', after: 7 }])
    leave()
    expect(last().of('unsubscribe')).toHaveLength(1)
    reconnect()
    last().hello()
    expect(last().of('subscribe')).toEqual([])
  })
})

test('with a gap is requested again at once, from before the gap', () => {
  last().hello()
  socket.follow('s')
  last().receive({ type: 'transcript', session_id: 's', from: 0, next: 7, items: [], total: 7, live: null })
  last().receive({ type: 'transcript', session_id: 's', from: 9, next: 12, items: [], total: 12, live: null })
  vi.advanceTimersByTime(20)
  expect(last().of('subscribe')).toMatchObject([{ after: 0 }, { session_id: 's', after: 7 }])
  last().receive({ type: 'transcript', session_id: 's', from: 7, next: 12, items: [], total: 12, live: null })
  vi.advanceTimersByTime(20)
  expect(store.transcript('s')?.cursor).toBe(12)
  expect(last().of('subscribe')).toHaveLength(2)
})

test('gets appended text from a server that offers it, and is requested again when it does not fit', () => {
  last().hello()
  socket.follow('s')
  expect(last().of('subscribe')[0]).not.toHaveProperty('live_append')
  reconnect()
  last().hello({ live_append: true })
  expect(last().of('subscribe')).toMatchObject([{ session_id: 's', live_append: true }])
  const live: Live = { kind: 'text', text: 'one', agent_id: null, rev: 4 }
  last().receive({ type: 'transcript', session_id: 's', from: 0, next: 7, items: [], total: 7, live })
  last().receive({ type: 'live_append', session_id: 's', after: 4, rev: 5, text: ' two' })
  vi.advanceTimersByTime(20)
  expect(store.transcript('s')?.live?.text).toBe('one two')
  expect(last().of('subscribe')).toHaveLength(1)
  last().receive({ type: 'live_append', session_id: 's', after: 6, rev: 7, text: ' four' })
  vi.advanceTimersByTime(20)
  expect(last().of('subscribe')).toMatchObject([{}, { session_id: 's', after: 7, live_append: true }])
})

test('frames are applied once for each animation frame', () => {
  last().hello()
  const apply = vi.spyOn(store, 'apply')
  for (let i = 0; i < 50; i++) last().receive({ type: 'active_processes', processes: [] })
  vi.advanceTimersByTime(20)
  expect(apply.mock.calls.length).toBeLessThanOrEqual(2)
  expect(store.state.complete).toBe(true)
})

test('a request that opens or closes is applied at once with the frames before it; the rest waits for the next animation frame', () => {
  last().hello()
  last().receive({ type: 'active_processes', processes: [] })
  vi.advanceTimersByTime(20)
  const state = golden<ProcessState>('process_state.many_requests')
  const quiet = { ...state, session_id: 'other', pending_requests: [] }
  last().receive(quiet)
  expect(store.session('other')).toBeUndefined()
  last().receive(state)
  expect(store.requests).toHaveLength(state.pending_requests.length)
  expect(store.session('other')).toBeDefined()
  vi.advanceTimersByTime(20)
  last().receive({ ...state, version: state.version + 1, pending_requests: state.pending_requests.slice(1) })
  expect(store.requests).toHaveLength(state.pending_requests.length - 1)
  vi.advanceTimersByTime(20)
  last().receive({
    ...state,
    version: state.version + 2,
    title: 'another',
    pending_requests: state.pending_requests.slice(1),
  })
  expect(store.session(state.session_id)?.title).toBe(state.title)
  vi.advanceTimersByTime(20)
  expect(store.session(state.session_id)?.title).toBe('another')
})

test('an acknowledgment is applied together with the state that it caused', () => {
  last().hello()
  const state = golden<ProcessState>('process_state.many_requests')
  const [first] = state.pending_requests
  last().receive({ type: 'active_processes', processes: [state] })
  vi.advanceTimersByTime(20)
  socket.answer({ ...answer, session_id: state.session_id, request_id: first!.request_id })
  const [sent] = last().of('pending_request_response')
  last().receive({
    type: 'batch',
    frames: [
      { type: 'ack', command_id: sent!.command_id, result: 'applied' },
      { ...state, version: state.version + 1, pending_requests: state.pending_requests.slice(1) },
    ],
  })
  expect(store.state.acks.get(first!.request_id)?.result).toBe('applied')
  expect(store.outbox).toEqual([])
  expect(store.requests).toHaveLength(state.pending_requests.length - 1)
})

test('the end of a sign-in is reported once', () => {
  last().hello()
  last().onclose?.({ code: 4001 } as CloseEvent)
  vi.advanceTimersByTime(60_000)
  expect(store.status.kind).toBe('signed_out')
  expect(FakeSocket.all).toHaveLength(1)
})

test('the refusal of a draft is reported once, and not after its connection', () => {
  last().hello()
  const refused = vi.fn<(result: string) => void>()
  const ack = (command_id: string | null, result: 'applied' | 'rejected') =>
    last().receive({ type: 'ack', command_id: command_id!, result })
  const draft = () => socket.draft({ session_id: 's' }, 'Hello', refused)
  ack(draft(), 'applied')
  expect(refused).not.toHaveBeenCalled()
  const second = draft()
  ack(second, 'rejected')
  ack(second, 'rejected')
  expect(refused.mock.calls).toEqual([['rejected']])
  const third = draft()
  reconnect()
  expect(draft()).toBeNull()
  last().hello()
  ack(third, 'rejected')
  expect(refused).toHaveBeenCalledTimes(1)
})

test('typing is reported at most every two seconds', () => {
  last().hello()
  for (let i = 0; i < 5; i++) socket.typing('s', 'r')
  vi.advanceTimersByTime(2_000)
  socket.typing('s', 'r')
  expect(last().of('typing')).toHaveLength(2)
})

test('the visible session is reported at every change and on every connection', () => {
  vi.spyOn(document, 'hasFocus').mockReturnValue(true)
  last().hello()
  socket.showing({ session_id: 's' })
  socket.showing({ session_id: 's' })
  socket.showing({ inbox: true })
  expect(
    last()
      .of('looking')
      .map((c) => [c['looking'], c['showing']]),
  ).toEqual([
    [true, {}],
    [true, { session_id: 's' }],
    [true, { inbox: true }],
  ])
  last().onclose?.({ code: 1001 } as CloseEvent)
  vi.advanceTimersByTime(20_000)
  last().hello()
  expect(
    last()
      .of('looking')
      .map((c) => c['showing']),
  ).toEqual([{ inbox: true }])
})

describe('an unknown session', () => {
  const found = {
    session_id: 'old',
    project_id: 'p',
    title: 'Long ago',
    cwd: '/w',
    model: '',
    permission_mode: 'default',
    allowed_tools: [],
    archived: true,
    demo: false,
    created_at: 1,
    updated_at: 2,
  }

  test('is requested', async () => {
    last().hello()
    vi.mocked(fetch).mockResolvedValueOnce(new Response(JSON.stringify(found)))
    expect(await socket.find('old')).toBe(true)
    vi.advanceTimersByTime(20)
    expect(store.session('old')?.title).toBe('Long ago')
  })

  test('is missing when the server says so, not when it does not answer', async () => {
    vi.mocked(fetch).mockResolvedValueOnce(
      new Response('{"error":{"code":"not_found","message":"no"}}', { status: 404 }),
    )
    expect(await socket.find('none')).toBe(false)
    vi.mocked(fetch).mockRejectedValueOnce(new TypeError('failed'))
    expect(await socket.find('none')).toBe(true)
  })
})

test('a message to an untrusted folder waits for the person and is sent again with their decision', async () => {
  const trust = { folder: '/w', digest: 'sha256:1', items: [], gone: [], told: [], can_leave_out: true, before: null }
  const refuse = (command_id: string) =>
    last().receive({
      type: 'ack',
      command_id,
      result: 'rejected',
      error: { code: 'folder_untrusted', message: 'Look.', folder_trust: trust },
    })
  last().hello()
  let decide: (consent: Consent | null) => void = () => {}
  asked.mockImplementation(() => new Promise((resolve) => (decide = resolve)))
  socket.sendMessage('s', 'hello')
  const first = last().of('send_message')[0]!.command_id
  refuse(first)
  refuse(first)
  await vi.waitFor(() => expect(asked).toHaveBeenCalledTimes(1))
  await vi.advanceTimersByTimeAsync(100)
  expect(store.state.refused.size).toBe(0)
  expect(store.outbox).toHaveLength(1)
  decide({ trust: 'sha256:1' })
  await vi.advanceTimersByTimeAsync(100)
  const second = last().of('send_message')[1]!
  expect(second).toMatchObject({ text: 'hello', trust: 'sha256:1' })
  expect(second.command_id).not.toBe(first)
  refuse(second.command_id)
  await vi.waitFor(() => expect(asked).toHaveBeenCalledTimes(2))
  decide(null)
  await vi.advanceTimersByTimeAsync(100)
  expect(store.state.refused.get('s')).toMatchObject({ text: 'hello', error: { message: 'Look.' } })
  expect(store.outbox).toHaveLength(0)
})

describe('two people in one tab', () => {
  const as = (name: string) =>
    last().receive({
      type: 'hello',
      protocol: 1,
      server_version: '1',
      node_id: 'n',
      user: { name, role: 'member' },
      user_id: `id-of-${name}`,
      server_time: 1,
    })

  test('an offline decision is sent for its author, never with another sign-in', () => {
    as('ada')
    reconnect()
    socket.answer(answer)
    expect(store.outbox).toHaveLength(1)
    as('grace')
    expect(last().of('pending_request_response')).toEqual([])
    expect(store.outbox).toEqual([])
    expect(store.state.user?.name).not.toBe('ada')
    reconnect()
    as('ada')
    expect(last().of('pending_request_response')).toMatchObject([{ request_id: 'r', user_id: 'id-of-ada' }])
    expect(store.outbox).toHaveLength(1)
  })

  test('neither sees the other’s data', () => {
    as('ada')
    last().receive({ type: 'active_processes', processes: [golden<ProcessState>('process_state.tool_approval')] })
    vi.advanceTimersByTime(300)
    expect(store.all).not.toHaveLength(0)
    reconnect()
    as('grace')
    expect(store.all).toEqual([])
    expect(store.state.drafts.size).toBe(0)
  })
})

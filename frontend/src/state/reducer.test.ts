// @vitest-environment node
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Item, ProcessState, Request, ServerFrame, Transcript } from '@/wire/messages.gen'
import { empty, merge, reduce, type Context, type Listing, type State } from './reducer'

const context: Context = { now: 1_000_000, commandOf: () => undefined }
const run = (frames: (ServerFrame | Listing)[], from: State = empty, c: Context = context) =>
  frames.reduce((s, f) => reduce(s, f, c), from)

function request(id: string): Request {
  return {
    request_id: id,
    request_type: 'tool_approval',
    source: 'claude',
    tool_name: 'Bash',
    tool_input: { command: 'ls' },
    input_hash: 'sha256:' + id,
    created_at: 1,
    expires_at: null,
    status: 'open',
    agent_id: null,
    agent_type: null,
    title: null,
    description: null,
    decision_reason: null,
    blocked_path: null,
    tool_use_id: null,
    permission_suggestions: [],
    draft: null,
  }
}

function process(id: string, version: number, more: Partial<ProcessState> = {}): ProcessState {
  return {
    type: 'process_state',
    version,
    session_id: id,
    project_id: 'p',
    title: `${id} at ${version}`,
    cwd: '/w',
    state: 'assistant_turn',
    started_at: 1,
    state_changed_at: version,
    model: '',
    permission_mode: 'default',
    memory: 0,
    cpu: 0,
    node_id: 'n',
    error: null,
    kill_reason: null,
    stuck: null,
    queued_messages: 0,
    pending_requests: [],
    ...more,
  }
}

function item(seq: number, rev: number): Item {
  return { seq, rev, key: 'k' + seq, at: seq, kind: 'text', agent_id: null, text: `${seq} at ${rev}` }
}

function piece(from: number, next: number, items: Item[]): Transcript {
  return { type: 'transcript', session_id: 's', from, next, items, total: 9, live: null }
}

describe('process_state', () => {
  test('an older version is dropped', () => {
    const state = run([process('s', 2), process('s', 1)])
    expect(state.sessions.get('s')?.title).toBe('s at 2')
  })

  test('any order, with repeats, ends at the newest version of each session', () => {
    const frames = ['a', 'b', 'c'].flatMap((id) => [1, 2, 3, 4].map((v) => process(id, v)))
    const want = run(frames).sessions
    fc.assert(
      fc.property(
        fc.shuffledSubarray(frames, { minLength: frames.length }),
        fc.array(fc.constantFrom(...frames), { maxLength: 8 }),
        (order, repeats) => {
          const got = run([...order.slice(0, 6), ...repeats, ...order.slice(6)]).sessions
          for (const id of ['a', 'b', 'c']) expect(got.get(id)?.title).toBe(want.get(id)?.title)
        },
      ),
      { numRuns: 300 },
    )
  })

  test('a deleted session stays deleted, whatever arrives late', () => {
    const state = run([process('s', 3, { deleted: true, state: 'dead' }), process('s', 2)])
    expect(state.sessions.get('s')?.deleted).toBe(true)
  })

  test('a request that outlives its process stays open', () => {
    const gone = (r: Request) =>
      run([
        process('s', 1, { pending_requests: [r], state: r.status === 'orphaned' ? 'dead' : 'assistant_turn' }),
        process('s', 2, { state: 'dead', error: 'Exit code 1.' }),
      ]).closed.get('a')?.exit
    expect(gone({ ...request('a'), status: 'orphaned' })).toBeNull()
    expect(gone(request('a'))).toMatchObject({ error: 'Exit code 1.' })
  })

  test('a batch applies its frames in order', () => {
    expect(run([{ type: 'batch', frames: [process('a', 1), process('b', 1)] }]).sessions.size).toBe(2)
  })

  test('a frame of a newer server is ignored', () => {
    expect(run([{ type: 'weather' } as unknown as ServerFrame])).toBe(empty)
  })
})

describe('active_processes', () => {
  test('is the full set: other sessions do not run and ask nothing', () => {
    const state = run([
      process('gone', 5, { pending_requests: [request('r')] }),
      process('there', 5),
      { type: 'active_processes', processes: [process('there', 6)] },
    ])
    expect(state.sessions.get('gone')).toMatchObject({ state: 'dead', pending_requests: [] })
    expect(state.sessions.get('there')?.version).toBe(6)
    expect(state.closed.get('r')?.session_id).toBe('gone')
  })

  test('an inferred state gives way to the server’s of the same version', () => {
    const state = run([process('s', 5), { type: 'active_processes', processes: [] }, process('s', 5)])
    expect(state.sessions.get('s')?.state).toBe('assistant_turn')
  })

  test('a newer state that arrived first is kept', () => {
    const state = run([process('s', 7), { type: 'active_processes', processes: [process('s', 6)] }])
    expect(state.sessions.get('s')?.version).toBe(7)
  })

  test('tabs that missed different frames agree afterwards', () => {
    const history = [1, 2, 3, 4, 5].map((v) => process('s', v, { pending_requests: v % 2 ? [request('r' + v)] : [] }))
    const last: ServerFrame = { type: 'active_processes', processes: [history[4]!, process('t', 1)] }
    fc.assert(
      fc.property(fc.subarray(history), (seen) => {
        const { sessions } = run([...seen, last])
        expect(sessions.get('s')?.pending_requests.map((r) => r.request_id)).toEqual(['r5'])
        expect([...sessions.keys()].toSorted()).toEqual(['s', 't'])
      }),
    )
  })
})

describe('requests that close', () => {
  test('a request missing from the state is closed', () => {
    const state = run([
      process('s', 1, { pending_requests: [request('a'), request('b')] }),
      process('s', 2, { pending_requests: [request('b')] }),
    ])
    expect([...state.closed.keys()]).toEqual(['a'])
    expect(state.closed.get('a')).toMatchObject({ closed_at: context.now, exit: null })
  })

  test('the death of the process gives the reason', () => {
    const state = run([
      process('s', 1, { pending_requests: [request('a')] }),
      process('s', 2, { state: 'dead', error: 'exit 1' }),
    ])
    expect(state.closed.get('a')?.exit).toMatchObject({ error: 'exit 1' })
  })

  test('the transcript says who answered', () => {
    const state = run([
      piece(0, 1, [
        {
          seq: 1,
          rev: 1,
          key: 'k',
          at: 5,
          agent_id: null,
          kind: 'resolved',
          request_id: 'a',
          request_type: 'tool_approval',
          tool_name: 'Bash',
          outcome: 'denied',
          by: 'grace',
          summary: 'Denied',
          waited: 1,
        },
      ]),
    ])
    expect(state.resolutions.get('a')).toEqual({
      outcome: 'denied',
      by: 'grace',
      device: null,
      at: 5,
      summary: 'Denied',
    })
  })

  test('the acknowledgment of an answer is kept by request, with who was first', () => {
    const resolved = { outcome: 'denied' as const, by: 'grace', device: null, at: 5, summary: 'Denied' }
    const state = run([{ type: 'ack', command_id: 'c', result: 'already_resolved', resolved }], empty, {
      now: 1,
      commandOf: () => ({
        type: 'pending_request_response',
        command_id: 'c',
        session_id: 's',
        request_id: 'a',
        request_type: 'tool_approval',
      }),
    })
    expect(state.acks.get('a')?.result).toBe('already_resolved')
    expect(state.resolutions.get('a')).toEqual(resolved)
  })

  test('the acknowledgment of another tab’s command changes nothing', () => {
    expect(run([{ type: 'ack', command_id: 'c', result: 'applied' }])).toBe(empty)
  })

  test('a rejected message keeps its text', () => {
    const state = run(
      [{ type: 'ack', command_id: 'c', result: 'rejected', error: { code: 'x', message: 'No process.' } }],
      empty,
      {
        now: 1,
        commandOf: () => ({ type: 'send_message', command_id: 'c', session_id: 's', text: 'hello' }),
      },
    )
    expect(state.refused.get('s')).toEqual({
      command_id: 'c',
      text: 'hello',
      error: { code: 'x', message: 'No process.' },
    })
  })
})

describe('transcript', () => {
  test('a revision replaces its item, in any order', () => {
    const all = [1, 2, 3, 4].flatMap((seq) => [item(seq, seq), item(seq, seq + 10)])
    fc.assert(
      fc.property(fc.shuffledSubarray(all, { minLength: all.length }), (order) => {
        const got = order.reduce<readonly Item[]>((items, it) => merge(items, [it]), [])
        expect(got.map((it) => [it.seq, it.rev])).toEqual([
          [1, 11],
          [2, 12],
          [3, 13],
          [4, 14],
        ])
      }),
      { numRuns: 200 },
    )
  })

  test('a page from before the cursor is dropped', () => {
    const state = run([piece(0, 5, [item(1, 5)]), piece(0, 3, [item(1, 3)])])
    expect(state.transcripts.get('s')).toMatchObject({ cursor: 5, items: [{ rev: 5 }] })
  })

  test('the live block is replaced as a whole and removed', () => {
    const live = { kind: 'text' as const, text: 'I am', agent_id: null }
    const growing = run([{ ...piece(0, 1, [item(1, 1)]), live }])
    expect(growing.transcripts.get('s')?.live).toEqual(live)
    expect(run([piece(1, 2, [item(2, 2)])], growing).transcripts.get('s')?.live).toBeNull()
  })
})

describe('a transcript over a bad connection', () => {
  // The server's side: items are written and written again, and each writing is a rev.
  const written = fc.array(fc.nat(6), { minLength: 1, maxLength: 30 })
  const history = (seqs: number[]) => seqs.map((n, i) => item(n + 1, i + 1))
  const truth = (all: Item[]) => [...new Map(all.map((it) => [it.seq, it])).values()].toSorted((a, b) => a.seq - b.seq)
  const frame = (all: Item[], from: number, next: number): Transcript =>
    piece(from, next, truth(all.filter((it) => it.rev > from && it.rev <= next)))

  test('the next subscription reaches the server’s transcript, whatever was lost, late, repeated or reordered', () => {
    fc.assert(
      fc.property(
        written,
        fc.array(fc.tuple(fc.nat(30), fc.nat(30), fc.boolean()), { maxLength: 20 }),
        (seqs, sent) => {
          const all = history(seqs)
          // Frames of this and of earlier connections, in any order; some never came.
          const frames = sent
            .filter(([, , came]) => came)
            .map(([a, b]) => {
              const [from, next] = [Math.min(a, b, all.length), Math.min(Math.max(a, b), all.length)]
              return frame(all, from, next)
            })
          let state = run(frames)
          const cursor = state.transcripts.get('s')?.cursor ?? 0
          state = run([frame(all, cursor, all.length)], state)
          expect(state.transcripts.get('s')?.items).toEqual(truth(all))
          expect(state.transcripts.get('s')?.cursor).toBe(all.length)
        },
      ),
      { numRuns: 500 },
    )
  }, 60_000)

  test('a frame that starts after a gap is dropped, so that the cursor still shows what is missing', () => {
    expect(run([piece(5, 9, [item(9, 9)])]).transcripts.has('s')).toBe(false)
    expect(run([piece(0, 3, [item(1, 3)]), piece(5, 9, [item(9, 9)])]).transcripts.get('s')?.cursor).toBe(3)
  })
})

describe('a growing block', () => {
  const text = (from: number, next: number, more: Partial<Transcript>): Transcript => ({
    ...piece(from, next, []),
    ...more,
  })
  const live = (said: string, rev: number) => ({ kind: 'text' as const, text: said, agent_id: null, rev })
  const grown = (after: number, rev: number, said: string): ServerFrame => ({
    type: 'live_append',
    session_id: 's',
    after,
    rev,
    text: said,
  })
  const of = (s: State) => s.transcripts.get('s')

  test('appends text to the revision that it has, once', () => {
    const state = run([
      text(0, 0, { live: live('one', 1) }),
      grown(1, 2, ' two'),
      grown(1, 2, ' two'),
      grown(2, 5, ' three'),
    ])
    expect(of(state)).toMatchObject({ live: live('one two three', 5) })
    expect(of(state)?.hasGap).toBeUndefined()
  })

  test('is requested again, completely, when something is missing', () => {
    const state = run([text(0, 0, { live: live('one', 1) }), grown(2, 3, ' three')])
    expect(of(state)).toMatchObject({ live: live('one', 1), hasGap: true })
    const again = run([text(0, 0, { live: live('one two three', 3) })], state)
    expect(of(again)).toMatchObject({ live: live('one two three', 3) })
    expect(of(again)?.hasGap).toBeUndefined()
  })

  test('stays while other items arrive, and passes its text to the final item', () => {
    const kept = run([text(0, 0, { live: live('one', 1) }), { ...piece(0, 1, [item(1, 1)]), live_rev: 1 }])
    expect(of(kept)).toMatchObject({ cursor: 1, live: live('one', 1) })
    const rest = { ...item(2, 2), text: ' two' } as Item
    const ended = { ...piece(1, 2, [rest]), live_rev: 1, live_item: rest.key }
    const after = run([ended, ended], kept)
    expect(of(after)).toMatchObject({ cursor: 2, live: null })
    expect(of(after)?.items[1]).toMatchObject({ key: rest.key, text: 'one two' })
    // Without the block, the item is asked for whole.
    expect(of(run([ended], run([piece(0, 1, [item(1, 1)])])))).toMatchObject({ cursor: 1, hasGap: true })
  })

  // The server's side of one connection: what was sent to this tab last, and the truth.
  test('matches the database in the end, whatever is lost or repeated', () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ do: fc.constant('grow' as const), said: fc.string() }) },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constantFrom('start' as const, 'end' as const, 'drop' as const, 'other' as const),
        }),
      },
    )
    const fate = fc.constantFrom('once' as const, 'once' as const, 'once' as const, 'twice' as const, 'lost' as const)
    fc.assert(
      fc.property(fc.array(fc.tuple(step, fate), { maxLength: 60 }), (steps) => {
        const all: Item[] = []
        let rev = 0
        let now: string | null = null
        let has: { cursor: number; rev: number } = { cursor: 0, rev: 0 }
        const whole = (from: number): Transcript => ({
          ...piece(from, all.length, all.slice(from)),
          live: now === null ? null : live(now, rev),
        })
        let state = run([whole(0)])
        const texts = new Map<number, string | null>()
        for (const [s, how] of steps) {
          let frame: ServerFrame
          const held = now
          if (s.do === 'grow' && now !== null) {
            now += s.said
            frame = grown(has.rev, ++rev, s.said)
          } else if (s.do === 'other') {
            all.push(item(all.length + 1, all.length + 1))
            frame = {
              ...piece(has.cursor, all.length, all.slice(has.cursor)),
              ...(now === null ? {} : { live_rev: rev }),
            }
          } else if (s.do === 'end' && held !== null) {
            const it = { ...item(all.length + 1, all.length + 1), text: held + '!' } as Item
            all.push(it)
            frame = {
              ...piece(has.cursor, all.length, [{ ...it, text: '!' } as Item]),
              live_rev: rev,
              live_item: it.key,
            }
            now = null
            rev++
          } else {
            now = s.do === 'start' ? '' : null
            rev++
            frame = { ...whole(has.cursor) }
          }
          has = { cursor: all.length, rev }
          texts.set(rev, now)
          if (how !== 'lost') state = run(how === 'twice' ? [frame, frame] : [frame], state)
          const known = of(state)!
          if (known.hasGap || ('next' in frame && frame.next > known.cursor)) state = run([whole(known.cursor)], state)
          expect(of(state)!.items).toEqual(all.slice(0, of(state)!.cursor))
          const shown = of(state)!.live
          expect(shown?.text ?? null).toBe(shown && texts.get(shown.rev!))
        }
        state = run([whole(of(state)!.cursor)], state)
        expect(of(state)?.items).toEqual(all)
        expect(of(state)?.live?.text ?? null).toBe(now)
      }),
      { numRuns: 500 },
    )
  })
})

describe('hello and the session list', () => {
  const hello = (server_version: string): ServerFrame => ({
    type: 'hello',
    protocol: 1,
    server_version,
    node_id: 'n',
    user: { name: 'ada', role: 'admin' },
    server_time: 1_030,
  })

  test('the clock skew is known', () => {
    expect(run([hello('1')]).skew).toBe(30)
  })

  test('a new server version is noticed, the first one is not', () => {
    expect(run([hello('1'), hello('1')]).updated).toBe(false)
    expect(run([hello('1'), hello('2')]).updated).toBe(true)
  })

  test('a list adds unknown sessions and overrides nothing', () => {
    const entry = {
      session_id: 's',
      project_id: 'p',
      title: 'old title',
      cwd: '/w',
      model: '',
      permission_mode: 'default',
      allowed_tools: [],
      archived: false,
      demo: false,
      created_at: 1,
      updated_at: 9,
    }
    const state = run([process('s', 4), { type: 'listing', sessions: [entry, { ...entry, session_id: 't' }] }])
    expect(state.sessions.get('s')).toMatchObject({ title: 's at 4', state: 'assistant_turn', updated_at: 9 })
    expect(state.sessions.get('t')).toMatchObject({ state: 'dead', version: 0 })
    expect(run([process('t', 1)], state).sessions.get('t')?.state).toBe('assistant_turn')
  })
})

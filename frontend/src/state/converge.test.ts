// @vitest-environment node
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Ack, ProcessState, Request, ServerFrame } from '@/wire/messages.gen'
import type { DurableCommand } from '@/wire/commands'
import { Outbox } from '@/connection/outbox'
import { empty, reduce, type Context, type State } from './reducer'

// A server and three tabs. What goes to a tab may come late, twice, in any order
// or not at all; connections end between any two steps and in the middle of any.

const request = (id: string): Request => ({
  request_id: id,
  request_type: 'tool_approval',
  source: 'claude',
  tool_name: 'Bash',
  tool_input: { command: id },
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
})

const blank = (id: string): ProcessState => ({
  type: 'process_state',
  version: 1,
  session_id: id,
  project_id: 'p',
  title: id,
  cwd: '/w',
  state: 'assistant_turn',
  started_at: 1,
  state_changed_at: 1,
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
})

const SESSIONS = ['a', 'b', 'c']

type Step =
  | { do: 'ask' | 'withdraw' | 'turn' | 'die' | 'delete'; session: string }
  | { do: 'deliver'; tab: number; pick: number; keep: boolean }
  | { do: 'lose'; tab: number; pick: number }
  | { do: 'reconnect'; tab: number }

const session = fc.constantFrom(...SESSIONS)
const tab = fc.nat(2)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('ask' as const, 'withdraw' as const, 'turn' as const, 'die' as const, 'delete' as const),
      session,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('deliver' as const), tab, pick: fc.nat(20), keep: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('lose' as const), tab, pick: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reconnect' as const), tab }) },
)

/** What a person can tell from a tab. */
const shown = (s: State) =>
  Object.fromEntries(
    [...s.sessions.values()]
      .filter((k) => !k.deleted)
      .map((k) => [
        k.session_id,
        { state: k.state, title: k.title, requests: k.pending_requests.map((r) => r.request_id) },
      ]),
  )

test('three tabs reach the server’s state, whatever is reordered, lost or repeated', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const server = new Map(SESSIONS.map((id) => [id, blank(id)]))
      const context: Context = { now: 1_000, commandOf: () => undefined }
      const active = (): ServerFrame => ({
        type: 'active_processes',
        processes: [...server.values()].filter(
          (p) => !p.deleted && (p.state !== 'dead' || p.pending_requests.length > 0),
        ),
      })
      const tabs = [0, 1, 2].map(() => ({ state: reduce(empty, active(), context), wire: [] as ServerFrame[] }))
      let n = 0
      for (const s of steps) {
        if (s.do === 'deliver' || s.do === 'lose') {
          const t = tabs[s.tab]!
          const at = s.pick % Math.max(1, t.wire.length)
          const frame = t.wire[at]
          if (!frame) continue
          if (s.do === 'deliver') t.state = reduce(t.state, frame, context)
          if (s.do === 'lose' || !s.keep) t.wire.splice(at, 1)
          continue
        }
        if (s.do === 'reconnect') {
          const t = tabs[s.tab]!
          t.wire = []
          t.state = reduce(t.state, active(), context)
          continue
        }
        const p = server.get(s.session)!
        if (p.deleted) continue
        const next: ProcessState = { ...p, version: p.version + 1, title: `${s.session} ${++n}` }
        if (s.do === 'ask')
          Object.assign(next, { state: 'assistant_turn', pending_requests: [...p.pending_requests, request(`r${n}`)] })
        if (s.do === 'withdraw') next.pending_requests = p.pending_requests.slice(1)
        if (s.do === 'turn') next.state = 'user_turn'
        if (s.do === 'die')
          Object.assign(next, {
            state: 'dead',
            pending_requests: p.pending_requests.map((r) => ({ ...r, status: 'orphaned' as const })),
          })
        if (s.do === 'delete')
          Object.assign(next, { state: 'dead', deleted: true, version: Number.MAX_SAFE_INTEGER, pending_requests: [] })
        server.set(s.session, next)
        for (const t of tabs) t.wire.push(next)
      }
      // Quiet: each tab has a connection, on which what is newest came last.
      for (const t of tabs) {
        t.state = reduce(t.state, active(), context)
        for (const p of server.values()) t.state = reduce(t.state, p, context)
        // And what was still on its way comes after all.
        for (const late of t.wire) t.state = reduce(t.state, late, context)
      }
      const want = shown([...server.values()].reduce<State>((state, p) => reduce(state, p, context), empty))
      for (const t of tabs) expect(shown(t.state)).toEqual(want)
    }),
    { numRuns: 500 },
  )
})

test('no answer is lost or given twice, wherever the connection ends', () => {
  // Where the connection of one try ends: before the command is written, when the
  // server has it in part, has applied it but written no ack, written the ack in
  // part, or when the ack has come and nothing of it is stored here yet.
  const end = fc.constantFrom(
    'before' as const,
    'half command' as const,
    'applied' as const,
    'half ack' as const,
    'unsettled' as const,
    'none' as const,
  )
  const plan = fc.array(fc.record({ tab: fc.nat(2), end, reload: fc.boolean() }), { maxLength: 24 })
  fc.assert(
    fc.property(
      plan,
      fc.array(fc.record({ tab: fc.nat(2), request: fc.nat(3) }), { minLength: 1, maxLength: 8 }),
      (tries, answers) => {
        const stores = [0, 1, 2].map(() => {
          const map = new Map<string, string>()
          return { getItem: (k: string) => map.get(k) ?? null, setItem: (k: string, v: string) => void map.set(k, v) }
        })
        const boxes = stores.map((s) => new Outbox(s, 'box'))
        // The server: one answer for each request, one ack for each command.
        const resolved = new Map<string, string>()
        const effects = new Map<string, number>()
        const acks = new Map<string, Ack['result']>()
        const heard = new Map<string, Ack['result']>()
        const given = new Map<string, string>()
        const apply = (c: DurableCommand) => {
          if (c.type !== 'pending_request_response' || acks.has(c.command_id)) return
          const first = !resolved.has(c.request_id)
          if (first) {
            resolved.set(c.request_id, c.command_id)
            effects.set(c.request_id, (effects.get(c.request_id) ?? 0) + 1)
          }
          acks.set(c.command_id, first ? 'applied' : 'already_resolved')
        }
        const attempt = (t: number, how: (typeof tries)[number]['end']) => {
          if (how === 'before') return
          const acked: string[] = []
          boxes[t]!.sendAll((c) => {
            if (how === 'half command') return false
            apply(c)
            if (how !== 'applied' && how !== 'half ack') acked.push(c.command_id)
            return true
          }, 1)
          for (const id of acked) {
            heard.set(id, acks.get(id)!)
            if (how !== 'unsettled') boxes[t]!.settle(id)
          }
        }
        answers.forEach((a, i) => {
          const command: DurableCommand = {
            type: 'pending_request_response',
            command_id: `c${i}`,
            session_id: 's',
            request_id: `r${a.request}`,
            request_type: 'tool_approval',
            decision: 'allow',
          }
          if (boxes[a.tab]!.add(command, i)) given.set(command.command_id, command.request_id)
          const now = tries[i]
          if (now) attempt(now.tab, now.end)
          if (now?.reload) boxes[now.tab] = new Outbox(stores[now.tab]!, 'box')
        })
        for (const t of tries.slice(answers.length)) {
          attempt(t.tab, t.end)
          if (t.reload) boxes[t.tab] = new Outbox(stores[t.tab]!, 'box')
        }
        for (const t of [0, 1, 2]) attempt(t, 'none')

        for (const box of boxes) expect(box.entries).toEqual([])
        // Every request that anybody answered has one answer, and everybody was told.
        expect([...effects.keys()].toSorted()).toEqual([...new Set(given.values())].toSorted())
        expect([...effects.values()].every((n) => n === 1)).toBe(true)
        for (const [command, id] of given)
          expect(heard.get(command)).toBe(resolved.get(id) === command ? 'applied' : 'already_resolved')
      },
    ),
    { numRuns: 1_000 },
  )
})

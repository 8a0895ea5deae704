// @vitest-environment jsdom
import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { nextTick, ref } from 'vue'
import { golden } from '@/testframes'
import { polite } from '@/ui/announce'
import { spoken } from '@/ui/appearance'
import type { Item, ProcessState, Transcript } from '@/wire/messages.gen'
import { readAloud } from './announcements'
import { useSessions } from '@/state/sessions'

const { pending_request: _, ...base } = golden<ProcessState>('process_state.idle')
const id = base.session_id
const context = { now: 0, commandOf: () => undefined }
let version = 0
let seq = 0
let items: Item[] = []
let stop = () => {}
let heard: string[] = []
const current = ref<string | undefined>(id)

function become(state: ProcessState['state']) {
  useSessions().apply([{ ...base, title: 'api-server', pending_requests: [], version: ++version, state }], context)
}
function write(...more: Record<string, unknown>[]) {
  const fresh = more.map(
    (it) => ({ seq: ++seq, rev: seq, key: `k${seq}`, at: 0, agent_id: null, ...it }) as unknown as Item,
  )
  items = [...items, ...fresh]
  const frame: Transcript = {
    type: 'transcript',
    session_id: id,
    from: items.length - fresh.length,
    next: items.length,
    items: fresh,
    total: items.length,
    live: null,
  }
  useSessions().apply([frame], context)
}
const words = (text: string) => ({ kind: 'text', text })
const call = (tool: string, input: object, status = 'done') => ({
  kind: 'tool_call',
  tool_use_id: 't',
  tool_name: tool,
  input_bytes: 2,
  result_bytes: 0,
  status,
  input,
})
/** What is said while time passes. */
async function after(ms: number) {
  heard = []
  for (let left = ms; left > 0; left -= 100) {
    await nextTick()
    const before = polite.value
    vi.advanceTimersByTime(100)
    await nextTick()
    if (polite.value !== before) heard.push(polite.value.text)
  }
  return heard
}

beforeEach(() => {
  vi.useFakeTimers()
  setActivePinia(createPinia())
  items = []
  seq = 0
  current.value = id
  spoken.value = 'summaries'
  become('assistant_turn')
  write({ kind: 'user', text: 'Do it.' }, words('What was said before the page came.'))
  stop = readAloud(useSessions(), () => current.value)
})
afterEach(() => {
  stop()
  spoken.value = 'summaries'
  vi.useRealTimers()
})

test('the end of a turn is announced with its results, and nothing during it', async () => {
  write(
    words('I look.'),
    call('Edit', { file_path: '/w/a' }),
    call('Write', { file_path: '/w/b' }),
    call('Bash', { command: 'go test ./...' }),
  )
  expect(await after(5_000)).toEqual([])
  become('user_turn')
  expect(await after(5_000)).toEqual(['Claude finished in api-server: 2 edits in 2 files and 1 test run.'])
  become('assistant_turn')
  await nextTick()
  write({ kind: 'user', text: 'Thanks.' }, words('Gladly.'))
  become('user_turn')
  expect(await after(5_000)).toEqual(['Claude finished in api-server.'])
  become('dead')
  expect(await after(5_000)).toEqual(['The Claude process in api-server ended.'])
})

test('nothing is announced when announcements are off', async () => {
  spoken.value = 'off'
  write(words('I look.'))
  become('user_turn')
  become('dead')
  expect(await after(10_000)).toEqual([])
})

test('in full, each block is announced when it is complete, together and at most every three seconds', async () => {
  spoken.value = 'full'
  expect(await after(5_000)).toEqual([])
  write(words('## I look\n\nat `main.go` and **only** there.\n```go\nx := 1\n```'))
  expect(await after(1_000)).toEqual(['I look at main.go and only there. x := 1'])
  // The next ones wait for each other; one that runs is said when it is done.
  write(call('Read', { file_path: '/w/a.go' }), { ...call('Bash', { command: 'make' }, 'running') })
  write(words('It is there.'), { ...words('A subagent says.'), agent_id: 'agent-1' }, { kind: 'thinking', text: 'Hm.' })
  expect(await after(1_500)).toEqual([])
  expect(await after(2_000)).toEqual(['Read: /w/a.go It is there.'])
  const run = items.find((it) => it.kind === 'tool_call' && it.tool_name === 'Bash')!
  useSessions().apply(
    [
      {
        type: 'transcript',
        session_id: id,
        from: items.length,
        next: items.length + 1,
        items: [{ ...run, rev: 99, status: 'failed' } as Item],
        total: items.length,
        live: null,
      },
    ],
    context,
  )
  expect(await after(4_000)).toEqual(['Bash: make (failed)'])
})

test('many blocks at once, such as after a lost connection, are counted and not read', async () => {
  spoken.value = 'full'
  write(...Array.from({ length: 40 }, (_, i) => words(`Block ${i}`)))
  expect(await after(5_000)).toEqual(['40 new blocks.'])
})

test('the pages of a long transcript are not read', async () => {
  spoken.value = 'full'
  const fresh = Array.from({ length: 3 }, (_, i) => ({ ...items[1]!, seq: 10 + i, rev: 10 + i, key: `p${i}` }))
  for (const [i, it] of fresh.entries()) {
    useSessions().apply(
      [
        {
          type: 'transcript',
          session_id: id,
          from: items.length,
          next: items.length + 1,
          items: [it],
          total: 9,
          live: null,
          more: i < 2,
        },
      ],
      context,
    )
  }
  expect(await after(5_000)).toEqual([])
})

test('another session is not read from its beginning', async () => {
  spoken.value = 'full'
  current.value = undefined
  await nextTick()
  write(words('Nobody looks.'))
  current.value = id
  expect(await after(5_000)).toEqual([])
  write(words('Now somebody does.'))
  expect(await after(5_000)).toEqual(['Now somebody does.'])
})

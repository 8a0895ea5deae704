import { flushPromises, mount, RouterLinkStub } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { nextTick } from 'vue'
import { golden } from '@/testframes'
import type { ProcessState } from '@/wire/messages.gen'
import WhileAway from './WhileAway.vue'
import { useSessions } from '@/state/sessions'

const one = {
  session_id: 'a',
  edits: 2,
  files: 2,
  commands: 0,
  tests: 1,
  failed: 0,
  answered: 0,
  turns: 1,
  first: 'k3',
}
const asked: string[] = []
let answer: () => Response

beforeEach(() => {
  localStorage.clear()
  asked.length = 0
  answer = () =>
    new Response(
      JSON.stringify({ sessions: [one, { ...one, session_id: 'b', edits: 1, files: 1, tests: 0, first: 'k9' }] }),
    )
  vi.useFakeTimers({ now: 1_763_692_800_000 })
  vi.stubGlobal(
    'fetch',
    vi.fn(async (path: string) => {
      asked.push(path)
      return answer()
    }),
  )
  setActivePinia(createPinia())
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

const minutesAgo = (n: number) => localStorage.setItem('sayso:here', String(Date.now() - n * 60_000))

async function show(hidden = false) {
  const it = mount(WhileAway, {
    props: { open: undefined, hidden },
    attachTo: document.body,
    global: { stubs: { RouterLink: RouterLinkStub } },
  })
  connect(true)
  await flushPromises()
  return it
}

function connect(is: boolean) {
  const store = useSessions()
  store.status = is ? { kind: 'open' } : { kind: 'connecting', since: 0 }
  store.state = { ...store.state, complete: is, skew: 10 }
}

test('a returning person sees what happened in all sessions, with a link to each', async () => {
  minutesAgo(30)
  const it = await show()
  expect(asked).toEqual([`/api/catch_up?since=${Date.now() / 1000 - 30 * 60 + 10}`])
  expect(it.find('summary').text()).toContain('While you were away: 3 edits in 3 files, 1 test run, and 2 turns ended')
  expect(it.findAllComponents(RouterLinkStub).map((l) => l.props('to'))).toEqual([
    { path: '/sessions/a', query: { block: 'k3' } },
    { path: '/sessions/b', query: { block: 'k9' } },
  ])
  // Whoever opened one has read it there; it waits where no session is open.
  await it.setProps({ open: 'a', hidden: true })
  expect(it.find('section').exists()).toBe(false)
  await it.setProps({ open: undefined, hidden: false })
  expect(it.find('summary').text()).toContain('1 edit in 1 file and 1 turn ended')
  await it.find('button').trigger('click')
  expect(it.find('section').exists()).toBe(false)
})

test('a person who was just here, or never was, sees nothing', async () => {
  await show()
  minutesAgo(1)
  await show()
  expect(asked).toEqual([])
})

test('a page that was hidden for long reloads when it is shown, and so does one whose device slept', async () => {
  const it = await show()
  const hidden = vi.spyOn(document, 'hidden', 'get').mockReturnValue(true)
  document.dispatchEvent(new Event('visibilitychange'))
  vi.advanceTimersByTime(600_000)
  hidden.mockReturnValue(false)
  document.dispatchEvent(new Event('visibilitychange'))
  await flushPromises()
  expect(asked).toHaveLength(1)
  await it.find('button').trigger('click')
  vi.setSystemTime(Date.now() + 3_600_000)
  vi.advanceTimersByTime(30_000)
  await flushPromises()
  expect(asked).toHaveLength(2)
  expect(it.find('section').exists()).toBe(true)
})

test('data that could not be loaded is requested on the next connection', async () => {
  minutesAgo(30)
  answer = () => new Response('{"error":{"code":"internal","message":"No."}}', { status: 500 })
  const it = await show()
  expect(it.find('section').exists()).toBe(false)
  answer = () => new Response(JSON.stringify({ sessions: [one] }))
  connect(false)
  await nextTick()
  connect(true)
  await flushPromises()
  expect(it.text()).toContain('2 edits')
})

test('a session with only new requests is listed too, until it was opened', async () => {
  minutesAgo(30)
  answer = () => new Response('{"sessions":[]}')
  const it = await show()
  expect(it.find('section').exists()).toBe(false)
  const asking = golden<ProcessState>('process_state.tool_approval')
  const now = Date.now() / 1000
  useSessions().apply(
    [{ ...asking, title: 'api-server', pending_requests: [{ ...asking.pending_requests[0]!, created_at: now - 60 }] }],
    { now: Date.now(), commandOf: () => undefined },
  )
  await nextTick()
  expect(it.find('li').text()).toBe('api-server 1 pending approval')
  expect(it.findComponent(RouterLinkStub).props('to')).toEqual({ path: `/sessions/${asking.session_id}`, query: {} })
  await it.setProps({ open: asking.session_id, hidden: true })
  await it.setProps({ open: undefined, hidden: false })
  expect(it.find('section').exists()).toBe(false)
})

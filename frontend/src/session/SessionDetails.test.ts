import { flushPromises, mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { nextTick } from 'vue'
import { createMemoryHistory, createRouter } from 'vue-router'
import { runShortcut } from '@/keys/shortcuts'
import { golden } from '@/testframes'
import { setMedia } from '@/testsetup'
import { BREAKPOINTS } from '@/ui/breakpoints'
import type { Item, ProcessState } from '@/wire/messages.gen'
import { tab } from '@/changes/panel'
import ContextRing from './ContextRing.vue'
import SessionDetails from './SessionDetails.vue'
import { drawer, toggle } from './details'
import Outline from './Outline.vue'
import { useSessions } from '@/state/sessions'

const frame = golden<ProcessState>('process_state.idle')
const id = frame.session_id
const router = createRouter({
  history: createMemoryHistory(),
  routes: [{ path: '/:any(.*)*', component: { template: '<p />' } }],
})
const pinia = createPinia()
let version = 100

beforeEach(async () => {
  vi.stubGlobal(
    'fetch',
    vi.fn(async () => new Response(JSON.stringify({ session_id: id, created_at: 1_763_692_800 }))),
  )
  setActivePinia(pinia)
  const store = useSessions()
  store.forget()
  store.apply([{ ...frame, version: ++version }], { now: 0, commandOf: () => undefined })
  setMedia(BREAKPOINTS.single, false)
  await nextTick()
  if (drawer.value) toggle()
  localStorage.clear()
  await router.replace('/')
})
afterEach(() => {
  setMedia(BREAKPOINTS.single, false)
  vi.unstubAllGlobals()
})

const head = (seq: number) => ({ seq, rev: seq, key: `k${seq}`, at: 1_700_000_000, agent_id: null })
function receive(items: Item[], more = false) {
  useSessions().apply(
    [{ type: 'transcript', session_id: id, from: 0, next: items.length, items, total: items.length, live: null, more }],
    { now: 0, commandOf: () => undefined },
  )
}
const WORK: Item[] = [
  {
    ...head(1),
    kind: 'tool_call',
    tool_use_id: 't',
    tool_name: 'Edit',
    input: { file_path: `${frame.cwd}/a.ts`, old_string: 'a', new_string: 'b\nc' },
    input_bytes: 2,
    status: 'done',
    result_bytes: 0,
  },
  { ...head(2), kind: 'todo', todos: [{ content: 'Mend it', status: 'completed' }] },
  { ...head(3), agent_id: 'x', kind: 'subagent', agent_type: 'Explore', description: 'look', status: 'done' },
  {
    ...head(4),
    kind: 'result',
    is_error: false,
    subtype: 'success',
    duration_ms: 1,
    num_turns: 1,
    cost_usd: 0.25,
    input_tokens: 1200,
    output_tokens: 80,
  },
]

async function show() {
  const it = mount(SessionDetails, {
    props: { session: useSessions().session(id)! },
    attachTo: document.body,
    global: { plugins: [pinia, router] },
  })
  await flushPromises()
  return it
}
const press = async () => {
  runShortcut('about', new KeyboardEvent('keydown'))
  await vi.waitFor(() => expect(document.querySelector('aside') !== null).toBe(drawer.value))
  await flushPromises()
}

test('the header shows context and cost, and nothing that was not reported', async () => {
  const it = mount(ContextRing, {
    props: { session: useSessions().session(id)! },
    attachTo: document.body,
    global: { plugins: [pinia] },
  })
  expect(it.text()).toBe('Context and cost')
  receive(WORK)
  await nextTick()
  expect(it.text()).toBe('$0.25Context and cost')
  const full = (context_tokens: number) =>
    receive([...WORK.slice(0, -1), { ...WORK.at(-1)!, context_tokens, context_window: 200 } as Item])
  full(76)
  await nextTick()
  expect(it.text()).toContain('Context 38 %')
  expect(it.find('.high').exists()).toBe(false)
  full(172)
  await nextTick()
  expect(it.text()).toContain('Context 86 %, nearly full')
  expect(it.find('.high').exists()).toBe(true)
  await it.trigger('click')
  expect([tab.value, it.attributes('aria-expanded')]).toEqual(['usage', 'true'])
  await it.trigger('click')
  expect(tab.value).toBeNull()
  await it.setProps({ session: { ...useSessions().session(id)!, demo: true } })
  expect(it.text()).not.toContain('$')
  it.unmount()
})

test('the focus moves to the drawer and back, and the browser remembers its state', async () => {
  const it = await show()
  const from = document.body.appendChild(document.createElement('input'))
  from.focus()
  await press()
  expect(document.activeElement?.textContent).toBe('Session details')
  expect(localStorage.getItem('sayso:beside')).toBe('open')
  await it.find('aside').trigger('keydown', { key: 'Escape' })
  await flushPromises()
  expect(it.find('aside').exists()).toBe(false)
  expect(document.activeElement).toBe(from)
  expect(localStorage.getItem('sayso:beside')).toBe('closed')
  from.remove()
})

test('a drawer that is open on load, or closed from elsewhere, takes no focus', async () => {
  toggle()
  const from = document.body.appendChild(document.createElement('input'))
  from.focus()
  const it = await show()
  expect(it.find('aside').exists()).toBe(true)
  expect(document.activeElement).toBe(from)
  await press()
  expect(document.activeElement).toBe(from)
  from.remove()
})

test('in a narrow window it is a sheet that opens only on a press', async () => {
  toggle()
  const it = await show()
  setMedia(BREAKPOINTS.single, true)
  await flushPromises()
  expect(it.find('aside').exists()).toBe(false)
  expect(document.querySelector('dialog')).toBeNull()
  toggle()
  await flushPromises()
  expect(document.querySelector('dialog h2')?.textContent).toBe('Session details')
  setMedia(BREAKPOINTS.single, false)
  await flushPromises()
  expect(document.querySelector('dialog')).toBeNull()
  expect(it.find('aside').exists()).toBe(true)
})

async function outline() {
  const it = mount(Outline, {
    props: { session: useSessions().session(id)! },
    attachTo: document.body,
    global: { plugins: [pinia, router] },
  })
  await flushPromises()
  return it
}

test('nothing is counted before the whole transcript has loaded', async () => {
  receive(WORK, true)
  const it = await outline()
  expect(it.findAll('h3').map((h) => h.text())).toEqual(['Details'])
  expect(it.text()).not.toContain('$0.25')
  receive(WORK)
  await nextTick()
  expect(it.findAll('h3').map((h) => h.text())).toEqual(['To do 1 of 1', 'Files changed 1', 'Subagents 1', 'Details'])
})

test('each file and subagent links to its block, and details can be copied', async () => {
  receive(WORK)
  const it = await outline()
  const leads = it.findAll('.leads button')
  expect(leads.map((b) => b.text().replace(/\s+/g, ' '))).toEqual([
    expect.stringMatching(/^a\.ts\s?\+2 −1\s?1 change$/),
    expect.stringMatching(/^Explore look\s?Done$/),
  ])
  for (const b of leads) await b.trigger('click')
  expect(it.emitted('lead')).toEqual([['k1'], ['k3']])
  expect(it.find('dl').text()).toContain(id)
  expect(it.find('dl').text()).toContain('$0.25')
  expect(it.findAll('dl button').map((b) => b.attributes('aria-label'))).toEqual(['Copy session ID', 'Copy folder'])
})

test('the same block can be opened again', async () => {
  receive(WORK)
  toggle()
  const it = await show()
  const seen: unknown[] = []
  const stop = router.afterEach((to) => void seen.push(to.query['block']))
  await vi.waitFor(() => expect(it.find('.leads button').exists()).toBe(true))
  for (let n = 0; n < 2; n++) {
    await it.find('.leads button').trigger('click')
    await flushPromises()
    await vi.waitFor(() => expect(router.currentRoute.value.query['block']).toBe('k1'))
  }
  expect(seen.filter((b) => b === 'k1')).toHaveLength(2)
  expect(seen.at(-2)).toBeUndefined()
  stop()
})

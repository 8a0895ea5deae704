import { flushPromises, mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Component } from 'vue'
import { useSessions } from '@/state/sessions'
import { request } from '@/testcards'
import { orphaned } from '@/testframes'
import People from './People.vue'
import PersonLimits from './PersonLimits.vue'
import Processes from './Processes.vue'
import Settings from './Settings.vue'
import Storage from './Storage.vue'
import Tokens from './Tokens.vue'

const calls: string[] = []
const answers: Record<string, unknown> = {}

beforeEach(() => {
  setActivePinia(createPinia())
  calls.length = 0
  for (const key of Object.keys(answers)) delete answers[key]
  vi.stubGlobal(
    'fetch',
    vi.fn(async (path: string, init: RequestInit) => {
      const key = `${init.method} ${path}`
      calls.push(key + (typeof init.body === 'string' ? ` ${init.body}` : ''))
      const answer = answers[key]
      if (answer === undefined) return new Response(null, { status: 204 })
      return new Response(JSON.stringify(answer), { status: (answer as { error?: unknown }).error ? 400 : 200 })
    }),
  )
})
afterEach(() => void vi.unstubAllGlobals())

async function open(page: Component) {
  const wrapper = mount(page, { attachTo: document.body })
  await flushPromises()
  calls.length = 0
  return wrapper
}

const setting = (name: string, kind: string, value: string) => ({
  name,
  kind,
  value,
  title: name,
  words: `What ${name} does.`,
  changeable: true,
  changed_by: null,
  changed_at: null,
})

test('saves a setting, and shows the error at the field of an invalid one', async () => {
  answers['GET /api/settings'] = {
    settings: [
      setting('user_cost', 'number', '0'),
      setting('ask', 'switch', 'false'),
      { ...setting('listen', 'text', ':1'), changeable: false },
    ],
  }
  answers['PATCH /api/settings'] = {
    error: { code: 'invalid', message: 'Cost per person: use a number from 0 to 1000000.' },
  }
  const wrapper = await open(Settings)
  const field = wrapper.find('input[type=number]')
  await field.setValue('-1')
  await wrapper.find('form').trigger('submit')
  await flushPromises()
  expect(calls[0]).toBe('PATCH /api/settings {"name":"user_cost","value":"-1"}')
  expect(wrapper.text()).toContain('use a number from 0 to 1000000.')
  expect((field.element as HTMLInputElement).value).toBe('-1')
  answers['PATCH /api/settings'] = answers['GET /api/settings']
  calls.length = 0
  await wrapper.find('input[type=checkbox]').setValue(true)
  await flushPromises()
  expect(calls[0]).toBe('PATCH /api/settings {"name":"ask","value":"true"}')
  expect(wrapper.findAll('form')).toHaveLength(1) // what is set at the start has no field
})

test('saves new limits of the retention only after a preview', async () => {
  const stored = (limits: Record<string, number>, more = {}) => ({
    database_bytes: 5 << 20,
    free_bytes: null,
    sessions: 3,
    transcript_bytes: 2048,
    attachments: 1,
    attachment_bytes: 100,
    journal_bytes: 0,
    audit_entries: 7,
    audit_bytes: 700,
    limits: { session_days: 0, session_size: 0, audit_days: 0, audit_entries: 0, ...limits },
    expired_sessions: 0,
    expired_bytes: 0,
    expired_until: null,
    expired_audit_entries: 0,
    ...more,
  })
  answers['GET /api/storage'] = stored({})
  const wrapper = await open(Storage)
  const [preview, save] = wrapper.findAll('button')
  const disabled = (b: typeof preview) => b!.attributes('aria-disabled') === 'true' || 'disabled' in b!.attributes()
  expect(wrapper.text()).toContain('3 sessions')
  expect(wrapper.text()).not.toContain('Free disk space')
  expect([disabled(preview), disabled(save)]).toEqual([true, true])
  await wrapper.find('input').setValue('30')
  expect([disabled(preview), disabled(save)]).toEqual([false, true])
  const tried = '/api/storage?session_days=30&session_size=0&audit_days=0&audit_entries=0'
  answers[`GET ${tried}`] = stored(
    { session_days: 30 },
    { expired_sessions: 1, expired_bytes: 2048, expired_until: 1_700_000_000 },
  )
  await wrapper.find('form').trigger('submit')
  await flushPromises()
  expect(calls).toEqual([`GET ${tried}`])
  expect(wrapper.find('[role=status]').text()).toContain('Deletes 1 session (2.0 kB), last active on Nov 14, 2023')
  expect(disabled(save)).toBe(false)
  answers['PATCH /api/settings'] = { settings: [] }
  await save!.trigger('click')
  await flushPromises()
  expect(calls[1]).toBe('PATCH /api/settings {"name":"session_days","value":"30"}')
  expect(wrapper.text()).toContain('within an hour')
})

const bob = {
  user_id: 'u2',
  name: 'bob',
  limits: { sessions: 2, memory: 0, cost: 5 },
  use: { sessions: 1, memory: 0, cost: 0.25 },
  own: { sessions: 2 },
}
const everybody = { sessions: 9, memory: 0, cost: 5 }

test('lists people with their usage, changes a role and disables a user', async () => {
  answers['GET /api/users'] = {
    users: [{ user_id: 'u2', name: 'bob', role: 'member', disabled: false, has_password: false, created_at: 1 }],
  }
  answers['GET /api/limits'] = { mine: bob, projects: [], next_day: 1, everybody, people: [bob] }
  const wrapper = await open(People)
  expect(wrapper.text()).toContain('1 of 2 running · $0.25 of $5.00 today (UTC)')
  await wrapper.find('select[aria-label="Role of bob"]').setValue('admin')
  await flushPromises()
  expect(calls[0]).toBe('PATCH /api/users/u2 {"role":"admin"}')
  calls.length = 0
  expect(wrapper.findAll('.actions button')).toHaveLength(2)
  await wrapper.find('button[aria-label="Actions for bob"]').trigger('click')
  await wrapper
    .findAll('button')
    .find((b) => b.text() === 'Disable')!
    .trigger('click')
  await flushPromises()
  expect(calls[0]).toBe('PATCH /api/users/u2 {"disabled":true}')
})

test('treats an empty limit of a person as the default and 0 as none', async () => {
  const wrapper = mount(PersonLimits, { props: { person: bob, everybody }, attachTo: document.body })
  const [sessions, memory, cost] = wrapper.findAll('input')
  expect((sessions!.element as HTMLInputElement).value).toBe('2')
  expect(memory!.attributes('placeholder')).toBe('default: no limit')
  expect(cost!.attributes('placeholder')).toBe('default: 5')
  await sessions!.setValue('')
  await memory!.setValue('512')
  await cost!.setValue('0')
  await wrapper.find('form').trigger('submit')
  await flushPromises()
  expect(calls).toEqual(['PATCH /api/users/u2 {"limits":{"memory":536870912,"cost":0}}'])
  expect(wrapper.emitted('saved')).toHaveLength(1)
})

test('shows a new token once', async () => {
  answers['GET /api/tokens'] = { tokens: [] }
  answers['POST /api/tokens'] = {
    token_id: 't1',
    name: 'ci',
    user: 'ada',
    role: 'member',
    created_at: 1,
    expires_at: null,
    last_used_at: null,
    revoked: false,
    token: 'shown-once',
  }
  const wrapper = await open(Tokens)
  await wrapper.find('input').setValue('ci')
  await wrapper.find('form').trigger('submit')
  await flushPromises()
  expect(calls[0]).toMatch(/^POST \/api\/tokens \{"name":"ci"/)
  expect(wrapper.text()).toContain('shown-once')
})

test('filters processes by their state and by their name', async () => {
  answers['GET /api/processes?samples=true'] = { processes: [] }
  const state = (session_id: string, more: object) => ({
    ...orphaned(),
    session_id,
    version: 1,
    pending_requests: [],
    state: 'user_turn',
    stuck: null,
    ...more,
  })
  const store = useSessions()
  store.apply(
    [
      {
        type: 'hello',
        protocol: 1,
        server_version: '1',
        node_id: 'n',
        user: { name: 'Ada', role: 'admin' },
        server_time: 0,
      },
      state('a', { title: 'Round the cart' }),
      state('b', { title: 'Fix the login', pending_requests: [request('r')] }),
      state('c', { title: 'Index the archive', stuck: 'It is silent.', state: 'assistant_turn' }),
    ] as never,
    { now: 0, commandOf: () => undefined },
  )
  const page = mount(Processes, {
    attachTo: document.body,
    global: { stubs: { RouterLink: { template: '<a><slot /></a>' } } },
  })
  await flushPromises()
  const titles = () => page.findAll('tbody th a').map((a) => a.text())
  expect(titles()).toEqual(['Index the archive', 'Round the cart', 'Fix the login'])
  await page.find('input[value=attention]').setValue()
  expect(titles()).toEqual(['Index the archive', 'Fix the login'])
  await page.find('input[value=stuck]').setValue()
  expect(titles()).toEqual(['Index the archive'])
  await page.find('input[value=all]').setValue()
  await page.find('input[type=search]').setValue('cart round')
  expect(titles()).toEqual(['Round the cart'])
  expect(page.find('[role=status]').text()).toBe('1 process')
})

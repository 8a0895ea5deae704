import { mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, expect, test } from 'vitest'
import { createMemoryHistory, createRouter } from 'vue-router'
import { useSessions } from '@/state/sessions'
import { golden } from '@/testframes'
import type { Hello, Machines } from '@/wire/messages.gen'
import EnvironmentBanner from './EnvironmentBanner.vue'
import { environment } from './environment'

const router = createRouter({
  history: createMemoryHistory(),
  routes: ['/', '/admin/machines'].map((path) => ({ path, component: { template: '<p />' } })),
})
const broken = (problem: string) => ({
  claude: { version: '2.1.329', signed_in: false, problem },
  demo_available: true,
  workspace_roots: [],
  home: '/home/ada',
})
const banner = (brief: boolean) =>
  mount(EnvironmentBanner, { props: { mayRun: true, brief }, global: { plugins: [router] } })
const button = (w: ReturnType<typeof banner>, name: string) =>
  w.findAll('button').find((b) => (b.attributes('aria-label') ?? b.text()) === name)

beforeEach(() => {
  setActivePinia(createPinia())
  sessionStorage.clear()
  environment.value = broken('Claude Code is not signed in.')
})

test('explains the problem and offers the demo when nothing can run', () => {
  const w = banner(false)
  expect(w.text()).toContain('Claude Code is not signed in.')
  expect(button(w, 'Try the demo session')).toBeDefined()
  expect(button(w, 'Details')).toBeUndefined()
})

test('is one line next to a demo, which it opens', async () => {
  const w = banner(true)
  expect(w.text()).toContain('Claude Code isn’t set up')
  expect(w.text()).not.toContain('Claude Code is not signed in.')
  expect(button(w, 'Try the demo session')).toBeUndefined()
  await button(w, 'Details')!.trigger('click')
  expect(w.text()).toContain('Claude Code is not signed in.')
  expect(button(w, 'Try the demo session')).toBeDefined()
})

test('can be hidden in this tab until another problem appears', async () => {
  const w = banner(true)
  await button(w, 'Hide for now')!.trigger('click')
  expect(w.text()).toBe('')
  expect(banner(true).text()).toBe('')
  expect(banner(false).text()).not.toBe('')
  environment.value = broken('Claude Code was not found.')
  expect(banner(true).text()).toContain('Claude Code isn’t set up')
})

test('is not shown when sessions can run', () => {
  environment.value = { ...broken(''), claude: { version: '2.1.329', signed_in: true, problem: null } }
  expect(banner(false).text()).toBe('')
})

test('says what to do when sessions start only on machines, and none is connected', () => {
  const store = useSessions()
  const show = (machines: Machines['machines'], role = 'admin') =>
    store.apply([{ ...golden<Hello>('hello'), user: { name: 'ada', role } } as Hello, { type: 'machines', machines }], {
      now: 0,
      commandOf: () => undefined,
    })
  const [here, far] = golden<Machines>('machines').machines as [Machines['machines'][0], Machines['machines'][0]]
  show([far])
  const w = banner(false)
  expect(w.text()).toContain('No machine is connected')
  expect(w.find('a').attributes('href')).toBe('/admin/machines')
  expect(button(w, 'Check again')).toBeUndefined()
  show([far], 'member')
  expect(banner(false).text()).toContain('Ask an admin')
  show([{ ...far, state: 'ready', seen_at: null }])
  expect(banner(false).text()).toBe('')
  show([here, far])
  expect(banner(false).text()).toContain('Claude Code isn’t set up')
})

import { flushPromises, mount } from '@vue/test-utils'
import { createPinia } from 'pinia'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createMemoryHistory, createRouter } from 'vue-router'
import { environment } from '@/environment/environment'
import { drafts } from '@/pending/drafts'
import Welcome from './Welcome.vue'

let claude: object
let calls: string[]
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  environment.value = null
  calls = []
  vi.stubGlobal(
    'fetch',
    vi.fn(async (path: string, init?: RequestInit) => {
      calls.push(`${init?.method ?? 'GET'} ${path}`)
      const body = path.startsWith('/api/me')
        ? { user: { name: 'mara', role: 'admin' }, user_id: 'u1', has_password: true, set_up: false }
        : path.startsWith('/api/environment')
          ? { claude, demo_available: true, workspace_roots: ['/srv/shop'], home: '/home/mara' }
          : path.startsWith('/api/sessions')
            ? { result: 'applied', session_id: 's1' }
            : { folders: [], more: false }
      return new Response(JSON.stringify(body), { status: 200, headers: { 'Content-Type': 'application/json' } })
    }),
  )
})
afterEach(() => vi.useRealTimers())

async function open() {
  const router = createRouter({
    history: createMemoryHistory(),
    routes: [
      { path: '/welcome', component: Welcome },
      { path: '/:rest(.*)*', component: { template: '<p />' } },
    ],
  })
  await router.push('/welcome')
  const wrapper = mount(
    { template: '<router-view />' },
    { attachTo: document.body, global: { plugins: [router, createPinia()] } },
  )
  await flushPromises()
  return { wrapper, router, current: () => wrapper.find('[aria-current=step] h2').text() }
}
const signedOut = {
  version: '2.1.329',
  signed_in: false,
  problem: 'Claude is not signed in on this server.',
  reasons: { problem: { reason: 'cli_signed_out', params: { command: '/opt/claude' } } },
}

test('completes the steps when the server reports progress', async () => {
  claude = { version: '', signed_in: false, problem: null }
  const { wrapper, current } = await open()
  expect(wrapper.find('h1').text()).toBe('Welcome, mara')
  expect(current()).toBe('Install Claude Code')
  claude = signedOut
  vi.advanceTimersByTime(5_000)
  await flushPromises()
  expect(current()).toBe('Sign in to Claude')
  expect(wrapper.find('code').text()).toBe('/opt/claude')
  claude = { version: '2.1.329', signed_in: true, problem: null }
  vi.advanceTimersByTime(5_000)
  await flushPromises()
  expect(current()).toBe('Choose a folder')
  // There is nothing left to wait for.
  calls = []
  vi.advanceTimersByTime(60_000)
  expect(calls).toEqual([])
})

test('links to the form for a new session, with the folder filled in', async () => {
  claude = { version: '2.1.329', signed_in: true, problem: null }
  const { wrapper, router } = await open()
  expect((wrapper.find('#new-cwd').element as HTMLInputElement).value).toBe('/srv/shop')
  await wrapper.find('form').trigger('submit')
  await flushPromises()
  expect(router.currentRoute.value.fullPath).toBe('/?new')
  expect(drafts.get<{ cwd: string }>('new-session')?.cwd).toBe('/srv/shop')
})

test('starts the demo without any of the steps', async () => {
  claude = signedOut
  const { wrapper, router } = await open()
  await wrapper
    .findAll('button')
    .find((b) => b.text() === 'Try the demo session')!
    .trigger('click')
  await flushPromises()
  expect(router.currentRoute.value.path).toBe('/sessions/s1')
})

import { flushPromises, mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { nextTick } from 'vue'
import { createMemoryHistory, createRouter } from 'vue-router'
import { useSessions } from '@/state/sessions'
import { orphaned } from '@/testframes'
import { useSignOut } from './useSignOut'

const unsubscribe = vi.fn<() => Promise<boolean>>()
const stop = vi.fn<() => void>()

beforeEach(() => {
  unsubscribe.mockClear()
  // A page that was reloaded by force: its service worker does not control it.
  Object.defineProperty(navigator, 'serviceWorker', {
    configurable: true,
    value: {
      controller: null,
      getRegistration: async () => ({ pushManager: { getSubscription: async () => ({ unsubscribe }) } }),
    },
  })
  vi.stubGlobal(
    'fetch',
    vi.fn(async () => new Response(null, { status: 204 })),
  )
})
afterEach(() => {
  delete (navigator as { serviceWorker?: unknown }).serviceWorker
  vi.unstubAllGlobals()
})

async function signedIn() {
  const pinia = createPinia()
  setActivePinia(pinia)
  const store = useSessions()
  store.setStatus({ kind: 'open' })
  store.apply(
    [
      {
        type: 'hello',
        protocol: 1,
        server_version: '1',
        node_id: 'n',
        user: { name: 'Ada', role: 'member' },
        server_time: 0,
      },
      orphaned(),
    ],
    { now: 0, commandOf: () => undefined },
  )
  const page = { template: '<i />' }
  const router = createRouter({
    history: createMemoryHistory(),
    routes: ['/', '/sign-in', '/sessions/:id'].map((path) => ({ path, component: page })),
  })
  await router.push('/sessions/s')
  const replace = vi.spyOn(router, 'replace')
  let it!: ReturnType<typeof useSignOut>
  mount({ setup: () => ((it = useSignOut({ stop })), () => null) }, { global: { plugins: [pinia, router] } })
  return { store, replace, ...it }
}

test('a person who was signed out elsewhere leaves nothing here for the next one', async () => {
  const { store, replace } = await signedIn()
  expect(store.all).toHaveLength(1)
  store.setStatus({ kind: 'signed_out' })
  await nextTick()
  expect([store.state.user, store.all]).toEqual([null, []])
  expect(replace).toHaveBeenCalledWith({ path: '/sign-in', query: { next: '/sessions/s' }, state: { elsewhere: true } })
  await flushPromises()
  await vi.waitFor(() => expect(unsubscribe).toHaveBeenCalledTimes(1))
})

test('a person who signs out gets no more notifications here', async () => {
  const { store, replace, leave } = await signedIn()
  await leave()
  expect(unsubscribe).toHaveBeenCalled()
  expect([store.state.user, store.all]).toEqual([null, []])
  expect(replace).toHaveBeenCalledWith(expect.objectContaining({ state: { elsewhere: false } }))
})

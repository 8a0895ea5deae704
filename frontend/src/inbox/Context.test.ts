import { flushPromises, mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { afterEach, expect, test, vi } from 'vitest'
import type { SessionState } from '@/state/reducer'
import { useSessions } from '@/state/sessions'
import { golden } from '@/testframes'
import { portKey, type Port } from '@/connection/port'
import type { ProcessState } from '@/wire/messages.gen'
import Context from './Context.vue'

afterEach(() => vi.unstubAllGlobals())

test('the waiting time of today comes from the server and is reloaded after an answer', async () => {
  setActivePinia(createPinia())
  const store = useSessions()
  store.status = { kind: 'open' }
  const session = { ...golden<ProcessState>('process_state.many_requests'), updated_at: 1 } as SessionState
  const asked: string[] = []
  let waited = 14 * 60 + 5
  vi.stubGlobal(
    'fetch',
    vi.fn(async (path: string) => {
      asked.push(path)
      return new Response(
        JSON.stringify({
          waits: [
            { session_id: 'another', waited: 9_000 },
            { session_id: session.session_id, waited },
          ],
        }),
      )
    }),
  )
  const port = { follow: () => () => {} } as unknown as Port
  const it = mount(Context, {
    props: { session, request: undefined },
    global: { provide: { [portKey as symbol]: port } },
  })
  await flushPromises()
  const midnight = new Date()
  midnight.setHours(0, 0, 0, 0)
  expect(asked).toEqual([`/api/waits?since=${midnight.getTime() / 1000}`])
  expect(it.text()).toContain('Claude waited 14 min')
  waited = 30 * 60
  await it.setProps({ session: { ...session, pending_requests: session.pending_requests.slice(1) } })
  await flushPromises()
  expect(it.text()).toContain('Claude waited 30 min')
})

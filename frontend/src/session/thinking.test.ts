import { mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { nextTick } from 'vue'
import LiveBlock from './items/LiveBlock.vue'
import { useSessions } from '@/state/sessions'

beforeEach(() => {
  setActivePinia(createPinia())
  vi.useFakeTimers({ now: 1_000_000 })
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

const thinking = (at?: number) => ({
  kind: 'thinking' as const,
  text: 'Hm',
  agent_id: null,
  ...(at === undefined ? {} : { at }),
})
async function pass(ms: number) {
  vi.advanceTimersByTime(ms)
  await nextTick()
}

test('the duration of thinking ticks by the server’s clock, and nothing around it is redrawn', async () => {
  // The server's clock is five seconds ahead.
  const store = useSessions()
  store.state = { ...store.state, skew: 5 }
  const drawn = vi.fn<() => void>()
  const it = mount(LiveBlock, { props: { live: thinking(1_003) }, attrs: { onVnodeUpdated: drawn } })
  expect(it.get('.took').text()).toBe('· 2 s')
  await pass(1_000)
  expect(it.get('.took').text()).toBe('· 3 s')
  await pass(60_000)
  expect(it.get('.took').text()).toContain('1 min')
  expect(drawn).not.toHaveBeenCalled()
})

test('it is not announced', () => {
  expect(
    mount(LiveBlock, { props: { live: thinking(990) } })
      .get('.took')
      .attributes('aria-hidden'),
  ).toBe('true')
})

test('it respects reduced motion', async () => {
  vi.stubGlobal('matchMedia', (query: string) => ({ matches: query.includes('reduced-motion'), addEventListener() {} }))
  const it = mount(LiveBlock, { props: { live: thinking(990) } })
  expect(it.get('.took').text()).toBe('· 10 s')
  await pass(9_000)
  expect(it.get('.took').text()).toBe('· 10 s')
  await pass(1_000)
  expect(it.get('.took').text()).toBe('· 20 s')
})

test('nothing is invented for an older server, or for other blocks', () => {
  expect(
    mount(LiveBlock, { props: { live: thinking() } })
      .find('.took')
      .exists(),
  ).toBe(false)
  expect(
    mount(LiveBlock, { props: { live: { kind: 'tool_call', tool: 'Write', text: '', agent_id: null, at: 1 } } })
      .find('.took')
      .exists(),
  ).toBe(false)
})

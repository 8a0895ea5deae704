import { mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { computed, defineComponent, h, nextTick, ref, shallowRef } from 'vue'
import { useSessions } from '@/state/sessions'
import { request } from '@/testcards'
import { useOutcomes } from './useOutcomes'

const GONE_MS = 5_000
let n = 0
beforeEach(() => {
  n++
  vi.useFakeTimers()
  setActivePinia(createPinia())
})
afterEach(() => vi.useRealTimers())

/** Ids of this test: what was decided is remembered for the page. */
const id = (name: string) => `${name}${n}`

function outcomes(names: string[]) {
  const requests = ref(names.map((name) => request(id(name))))
  const dismissed = vi.fn<(requestID: string) => void>()
  let it!: ReturnType<typeof useOutcomes>
  mount(
    defineComponent({
      setup() {
        const root = shallowRef<HTMLElement | null>(null)
        it = useOutcomes(
          computed(() => requests.value),
          root,
          () => undefined,
          dismissed,
        )
        return () => h('div', { ref: root, tabindex: -1 })
      },
    }),
    { attachTo: document.body },
  )
  return { ...it, requests, dismissed }
}

/** This person approves a request. */
async function decide(name: string) {
  const command = {
    type: 'pending_request_response' as const,
    command_id: `c${id(name)}`,
    request_id: id(name),
    session_id: 's',
    decision: 'allow' as const,
    input_hash: '',
  }
  const store = useSessions()
  store.setOutbox([...store.outbox, { command: command as never, created_at: 1, sent_at: 1 }])
  await nextTick()
}

test('requests have places in their order', () => {
  const it = outcomes(['a', 'b'])
  expect(it.places.value).toEqual([id('a'), id('b')])
  expect(it.keepsPlaces.value).toBe(false)
})

test('a request that was decided here leaves its outcome in its place, and a new one comes below', async () => {
  const it = outcomes(['a', 'b'])
  await decide('a')
  it.requests.value = [request(id('b')), request(id('c'))]
  await nextTick()
  expect([...it.outcomes.value.keys()]).toEqual([id('a')])
  expect(it.places.value).toEqual([id('a'), id('b'), id('c')])
  it.dismissOutcome(id('a'))
  expect(it.places.value).toEqual([id('b'), id('c')])
})

test('a request that another person decided leaves nothing', async () => {
  const it = outcomes(['a', 'b'])
  it.requests.value = [request(id('b'))]
  await nextTick()
  expect(it.outcomes.value.size).toBe(0)
  expect(it.places.value).toEqual([id('b')])
})

test('the last outcome disappears once nobody has touched the page for a while', async () => {
  const it = outcomes(['a'])
  await decide('a')
  it.requests.value = []
  await nextTick()
  vi.advanceTimersByTime(GONE_MS - 1)
  dispatchEvent(new Event('pointerdown'))
  vi.advanceTimersByTime(GONE_MS - 1)
  expect(it.outcomes.value.size).toBe(1)
  vi.advanceTimersByTime(1)
  expect(it.outcomes.value.size).toBe(0)
  expect(it.dismissed).not.toHaveBeenCalled()
})

test('an outcome disappears while Claude works, although states of the session keep arriving', async () => {
  const it = outcomes(['a'])
  await decide('a')
  it.requests.value = []
  await nextTick()
  for (let ms = 0; ms < GONE_MS; ms += 1_000) {
    it.requests.value = []
    await nextTick()
    vi.advanceTimersByTime(1_000)
  }
  expect(it.outcomes.value.size).toBe(0)
})

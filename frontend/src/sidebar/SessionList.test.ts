import { flushPromises, mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { expect, test, vi } from 'vitest'
import { nextTick } from 'vue'
import { createMemoryHistory, createRouter } from 'vue-router'
import { process, request } from '@/pending/testdock'
import type { ProcessState } from '@/wire/messages.gen'
import { portKey, type Port } from '@/connection/port'
import SessionList from './SessionList.vue'
import { look } from '@/session/seen'
import { useSessions } from '@/state/sessions'

function list(processes: ProcessState[], role: 'viewer' | 'member' = 'member') {
  const pinia = createPinia()
  setActivePinia(pinia)
  const store = useSessions()
  store.apply(
    [
      {
        type: 'hello',
        protocol: 1,
        server_version: '0',
        node_id: 'n',
        user: { name: 'ada', role },
        server_time: Date.now() / 1000,
      },
      { type: 'active_processes', processes },
    ],
    { now: Date.now(), commandOf: () => undefined },
  )
  const answer = vi.fn<Port['answer']>()
  const router = createRouter({
    history: createMemoryHistory(),
    routes: [{ path: '/:any(.*)*', component: { template: '<p></p>' } }],
  })
  const shown = mount(SessionList, {
    global: { plugins: [pinia, router], provide: { [portKey as symbol]: { answer } as unknown as Port } },
    attachTo: document.body,
  })
  return {
    shown,
    store,
    answer,
    router,
    quick: () => shown.findAll('button').filter((b) => b.text().startsWith('Approve')),
  }
}

const low = () => process([request('a', { risk: 'low', tool_input: { command: 'git status && git diff --stat' } })])

test('what is of low risk is approved from the list, once the whole of it was shown', async () => {
  const { quick, answer } = list([low()])
  expect(quick()).toHaveLength(1)
  await quick()[0]!.trigger('click')
  await vi.waitFor(
    () => expect(document.querySelector('dialog')?.textContent).toContain('command: git status && git diff --stat'),
    { timeout: 60_000 },
  )
  expect(answer).not.toHaveBeenCalled()
  await flushPromises()
})

test('what may be risky, and what is not theirs to answer, is not', () => {
  expect(list([process([request('b', { risk: 'medium' })])]).quick()).toHaveLength(0)
  expect(list([process([request('c', { risk: 'high' })])]).quick()).toHaveLength(0)
  expect(list([low()], 'viewer').quick()).toHaveLength(0)
})

test('whatever else waits leads to its card', () => {
  const { shown } = list([
    process([request('d', { risk: 'high', tool_input: { command: 'rm -rf x' } }), request('e')]),
    process([], { session_id: 'quiet', items: 1 }),
  ])
  const review = shown.findAll('a').filter((a) => a.text() === 'Review')
  expect(review.map((a) => [a.attributes('href'), a.attributes('aria-label')])).toEqual([
    ['/sessions/s?request=d', 'Review Bash: rm -rf x · 1 more'],
  ])
  expect(
    list([low()], 'viewer')
      .shown.findAll('a')
      .filter((a) => a.text() === 'Review'),
  ).toHaveLength(1)
})

test('a row leads to its session as any link does', async () => {
  const { shown, router } = list([process([], { session_id: 'a' }), process([], { session_id: 'b' })])
  const link = shown.find('a[href="/sessions/a"]')
  // The browser opens these in another tab or window, or saves them.
  for (const held of ['ctrlKey', 'metaKey', 'shiftKey', 'altKey']) {
    const press = new MouseEvent('click', { bubbles: true, cancelable: true, [held]: true })
    link.element.dispatchEvent(press)
    expect([held, press.defaultPrevented]).toEqual([held, false])
  }
  await link.trigger('click')
  await flushPromises()
  expect(router.currentRoute.value.path).toBe('/sessions/a')
  expect(shown.findAll('.current').map((a) => [a.attributes('href'), a.attributes('aria-current')])).toEqual([
    ['/sessions/a', 'page'],
  ])
})

test('a row says how much came since somebody looked, where nothing more comes by itself', async () => {
  look('read', 3)
  const { shown } = list([
    process([], { session_id: 'read', state: 'user_turn', items: 5 }),
    process([], { session_id: 'runs', items: 7 }),
    process([], { session_id: 'new', state: 'user_turn', items: 240 }),
    process([], { session_id: 'old', state: 'dead', items: 9 }),
  ])
  const said = () =>
    Object.fromEntries(
      shown
        .findAll('.link')
        .map((a) => [a.attributes('href')!.slice(10), a.find('.unseen').exists() ? a.find('.unseen').text() : null]),
    )
  expect(said()).toEqual({ read: '22 new', runs: null, new: '99+240 new', old: null })
  look('read', 5)
  await nextTick()
  expect(said()['read']).toBeNull()
})

test('a row that moves to another group keeps the focus', async () => {
  vi.useFakeTimers()
  const { shown, store } = list([
    process([], { session_id: 'a', state: 'user_turn', items: 1 }),
    process([], { session_id: 'b' }),
  ])
  const link = () => shown.find('a[href="/sessions/a"]').element as HTMLElement
  link().focus()
  store.apply([process([], { session_id: 'a', items: 1 })], { now: Date.now(), commandOf: () => undefined })
  await nextTick()
  await vi.advanceTimersByTimeAsync(2_000)
  expect(shown.findAll('h2').map((h) => h.text())).toEqual(['Running 2'])
  expect(document.activeElement).toBe(link())
  vi.useRealTimers()
})

test('the button of a row comes and goes with its place, so that nothing moves under a pointer', async () => {
  vi.useFakeTimers()
  const { shown, store } = list([process([], { session_id: 'a' })])
  const apply = (requests: ReturnType<typeof request>[]) =>
    store.apply([process(requests, { session_id: 'a' })], { now: Date.now(), commandOf: () => undefined })
  const line = () => [
    shown
      .findAll('h2')
      .map((h) => h.text())
      .join(),
    shown.find('.inline').exists(),
  ]
  await shown.trigger('pointermove')
  apply([request('x')])
  await nextTick()
  expect(line()).toEqual(['Running 1', false])
  await vi.advanceTimersByTimeAsync(1_500)
  expect(line()).toEqual(['Needs you 1', true])
  await shown.trigger('pointermove')
  apply([])
  await nextTick()
  expect(line()).toEqual(['Needs you 1', true])
  expect(shown.find('.inline').attributes('aria-hidden')).toBe('true')
  await vi.advanceTimersByTimeAsync(1_500)
  expect(line()).toEqual(['Running 1', false])
  vi.useRealTimers()
})

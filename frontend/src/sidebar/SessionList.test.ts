import { flushPromises, mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { expect, test, vi } from 'vitest'
import { nextTick } from 'vue'
import { createMemoryHistory, createRouter } from 'vue-router'
import { process, request } from '@/pending/testdock'
import type { Bookmark, ProcessState } from '@/wire/messages.gen'
import SessionList from './SessionList.vue'
import { portKey } from '@/connection/port'
import { markViewed } from '@/session/seen'
import { useSessions } from '@/state/sessions'

const find = vi.fn<(id: string) => Promise<boolean>>(() => Promise.resolve(true))

function list(processes: ProcessState[], bookmarks: Bookmark[] = []) {
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
        user: { name: 'ada', role: 'member' },
        server_time: Date.now() / 1000,
      },
      { type: 'active_processes', processes },
      { type: 'bookmarks', bookmarks },
    ],
    { now: Date.now(), commandOf: () => undefined },
  )
  const router = createRouter({
    history: createMemoryHistory(),
    routes: [{ path: '/:any(.*)*', component: { template: '<p></p>' } }],
  })
  const shown = mount(SessionList, {
    global: { plugins: [pinia, router], provide: { [portKey]: { find } } },
    attachTo: document.body,
  })
  return { shown, store, router }
}

test('a row is an ordinary link to its session', async () => {
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

test('a row is bold and counts the unread blocks, unless more are coming', async () => {
  const { shown } = list(
    [
      process([], { session_id: 'read', state: 'user_turn', items: 5 }),
      process([], { session_id: 'runs', items: 7 }),
      process([], { session_id: 'new', state: 'user_turn', items: 240 }),
      process([], { session_id: 'old', state: 'dead', items: 9 }),
    ],
    [{ session_id: 'read', pinned_at: null, seen: 3, seen_at: 1, at: 1 }],
  )
  await shown.get('button[aria-expanded]').trigger('click')
  const fresh = () =>
    Object.fromEntries(
      shown
        .findAll('.link')
        .map((a) => [a.attributes('href')!.slice(10), a.classes('fresh') && /(\d+) new/.exec(a.text())![1]]),
    )
  expect(fresh()).toEqual({ read: '2', runs: false, new: '240', old: false })
  markViewed('read', 5)
  await nextTick()
  expect(fresh()['read']).toBe(false)
})

test('a row that moves keeps the focus, and none moves under the pointer', async () => {
  vi.useFakeTimers()
  const { shown, store } = list([
    process([], { session_id: 'a', state: 'user_turn', items: 1 }),
    process([], { session_id: 'b' }),
  ])
  const order = () => shown.findAll('.link').map((a) => a.attributes('href')!.slice(10))
  const link = () => shown.find('a[href="/sessions/a"]').element as HTMLElement
  link().focus()
  expect(order()).toEqual(['b', 'a'])
  await shown.trigger('pointermove')
  store.apply([process([request('x')], { session_id: 'a', cwd: '/srv/aviary' })], {
    now: Date.now(),
    commandOf: () => undefined,
  })
  await nextTick()
  expect(order()).toEqual(['b', 'a'])
  await vi.advanceTimersByTimeAsync(1_500)
  expect(order()).toEqual(['a', 'b'])
  expect(document.activeElement).toBe(link())
  vi.useRealTimers()
})

test('folders of the same name are distinguished, and machines are named if there are several', () => {
  const heads = (...processes: ProcessState[]) =>
    list(processes)
      .shown.findAll('h2')
      .map((h) => h.text())
  const one = process([], { session_id: 'a', cwd: '/srv/shop', node_id: 'atlas' })
  expect(heads(one)).toEqual(['shop'])
  expect(
    heads(
      one,
      process([], { session_id: 'b', cwd: '/home/ada/shop', node_id: 'atlas' }),
      process([], { session_id: 'c', cwd: '/srv/docs', node_id: 'build-02' }),
    ),
  ).toEqual(['docsbuild-02', 'ada/shopatlas', 'srv/shopatlas'])
  // Agents have neither.
  expect(heads(one, process([], { session_id: 'b', cwd: '', node_id: '' })).toSorted()).toEqual(['No folder', 'shop'])
})

test('ended sessions are collapsed with their count, unless one is open or there are no others', async () => {
  const dead = process([], { session_id: 'over', state: 'dead' })
  const folded = list([process([], { session_id: 'runs' }), dead])
  expect(folded.shown.find('button[aria-expanded=false]').text()).toBe('Ended1')
  expect(folded.shown.findAll('.link')).toHaveLength(1)
  await folded.router.push('/sessions/over')
  await nextTick()
  expect(folded.shown.findAll('.link')).toHaveLength(2)
  expect(list([dead]).shown.findAll('.link')).toHaveLength(1)
})

const pinned = (session_id: string, pinned_at: number): Bookmark => ({
  session_id,
  pinned_at,
  seen: 0,
  seen_at: 0,
  at: 1,
})

test('pinned sessions are at the top, and one that is not in the list is loaded once', async () => {
  const { shown, store } = list(
    [process([], { session_id: 'a' }), process([], { session_id: 'b', state: 'dead' })],
    [pinned('b', 2), pinned('old', 1)],
  )
  expect(shown.findAll('h2').map((h) => h.text())).toEqual(['Pinned', 'w'])
  expect(shown.findAll('.link').map((a) => a.attributes('href'))).toEqual(['/sessions/b', '/sessions/a'])
  expect(find.mock.calls).toEqual([['old']])
  store.apply([{ type: 'bookmarks', bookmarks: [pinned('a', 3)] }], { now: 1, commandOf: () => undefined })
  await nextTick()
  expect(find).toHaveBeenCalledTimes(1)
})

test('Tab reaches one row, and the arrow keys move it', async () => {
  const { shown, router } = list([
    process([], { session_id: 'a' }),
    process([], { session_id: 'b' }),
    process([], { session_id: 'c' }),
  ])
  const stops = () => shown.findAll('.link:not([tabindex="-1"])').map((a) => a.attributes('data-session'))
  expect(stops()).toEqual(['a'])
  await router.push('/sessions/b')
  await nextTick()
  expect(stops()).toEqual(['b'])
  const at = () => (document.activeElement as HTMLElement).dataset['session']
  ;(shown.get('[data-session=b]').element as HTMLElement).focus()
  for (const [key, to] of [
    ['ArrowDown', 'c'],
    ['ArrowDown', 'c'],
    ['Home', 'a'],
    ['ArrowUp', 'a'],
    ['End', 'c'],
  ]) {
    document.activeElement!.dispatchEvent(new KeyboardEvent('keydown', { key: key!, bubbles: true }))
    expect([key, at()]).toEqual([key, to])
  }
  await nextTick()
  expect(stops()).toEqual(['c'])
})

test('F2 renames in the row, Escape cancels, and an error is shown in the field', async () => {
  const { shown } = list([process([], { session_id: 'a', title: 'Fix it' })])
  const answers = vi
    .spyOn(globalThis, 'fetch')
    .mockResolvedValue(new Response('{"error":{"code":"invalid","message":"Too long."}}', { status: 400 }))
  const row = () => shown.get('[data-session=a]').element as HTMLElement
  const field = () => shown.get<HTMLInputElement>('.rename input')
  row().focus()
  await shown.get('.link').trigger('keydown', { key: 'F2' })
  await nextTick()
  expect([document.activeElement, field().element.value]).toEqual([field().element, 'Fix it'])
  await field().setValue('Other')
  await field().trigger('keydown', { key: 'Escape' })
  await flushPromises()
  expect([document.activeElement, answers.mock.calls]).toEqual([row(), []])

  await shown.get('.link').trigger('keydown', { key: 'F2' })
  await field().setValue('  ')
  await shown.get('.rename').trigger('submit')
  expect(shown.get('[role=alert]').text()).toBe('Enter a title.')
  await field().setValue(' Other ')
  await shown.get('.rename').trigger('submit')
  await flushPromises()
  expect(answers.mock.calls.map(([path, init]) => [path, init!.body])).toEqual([
    ['/api/sessions/a', '{"title":"Other"}'],
  ])
  expect(field().attributes('aria-describedby')).toBe(shown.get('[role=alert]').attributes('id'))
  expect(shown.get('[role=alert]').text()).toBe('Too long.')
  answers.mockResolvedValue(new Response('{}'))
  await shown.get('.rename').trigger('submit')
  await flushPromises()
  expect(document.activeElement).toBe(row())
})

test('the menu of a row offers what is possible now, and returns the focus', async () => {
  const { shown } = list([process([], { session_id: 'a', title: 'Fix it' })])
  await shown.get('.link').trigger('contextmenu', { clientX: 5, clientY: 5 })
  await vi.dynamicImportSettled()
  await flushPromises()
  const menu = shown.get('[role=menu]')
  expect(menu.attributes('aria-label')).toBe('Actions for Fix it')
  const items = () => menu.findAll('[role=menuitem]').map((i) => i.text())
  expect(items()).toEqual(['Interrupt', 'Rename…F2', 'Fork', 'Pin', 'Open in new tab', 'Archive', 'Kill…'])
  expect(document.activeElement!.textContent.trim()).toBe('Interrupt')
  await menu.trigger('keydown', { key: 'End' })
  expect(document.activeElement!.textContent.trim()).toBe('Kill…')
  await menu.trigger('keydown', { key: 'p' })
  expect(document.activeElement!.textContent.trim()).toBe('Pin')
  await menu.trigger('keydown', { key: 'Escape' })
  expect(shown.find('[role=menu]').exists()).toBe(false)
  expect(document.activeElement).toBe(shown.get('[data-session=a]').element)
})

test('an empty list offers to start a session', async () => {
  const { shown, router } = list([])
  await router.push('/inbox')
  await shown.get('.empty button').trigger('click')
  expect(shown.emitted('create')).toHaveLength(1)
})

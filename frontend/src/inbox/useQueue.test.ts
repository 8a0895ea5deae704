import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { effectScope, nextTick, ref, type EffectScope } from 'vue'
import { ownDecisions } from '@/pending/decided'
import { process, request } from '@/pending/testdock'
import { useSessions } from '@/state/sessions'
import type { Request } from '@/wire/messages.gen'
import { useQueue } from './useQueue'
import { useSelection } from './useSelection'

let scope: EffectScope
const shown = ref<string>()
let version = 1
beforeEach(() => {
  vi.useFakeTimers()
  localStorage.clear()
  shown.value = undefined
  setActivePinia(createPinia())
  scope = effectScope()
})
afterEach(() => {
  scope.stop()
  vi.useRealTimers()
})

function inbox(...open: Request[]) {
  const store = useSessions()
  Object.assign(store.state, { user: { name: 'ada', role: 'member' } })
  const show = async (...requests: Request[]) => {
    store.apply([{ ...process(requests), version: ++version }], { now: Date.now(), commandOf: () => undefined })
    await nextTick()
  }
  store.apply([{ ...process(open), version: ++version }], { now: Date.now(), commandOf: () => undefined })
  const queue = scope.run(() => useQueue(() => shown.value))!
  const selection = scope.run(() => useSelection(queue))!
  return { queue, selection, show }
}
const low = (id: string, more: Partial<Request> = {}) =>
  request(id, { tool_name: 'Read', tool_input: { file_path: '/w/a' }, risk: 'low', ...more })

test('does not move while the pointer is over the list: closed rows stay and new ones come last', async () => {
  const { queue, show } = inbox(low('b', { created_at: 2 }), low('c', { created_at: 3 }))
  expect(queue.order.value).toEqual(['b', 'c'])
  queue.touch()
  await show(low('a', { created_at: 1 }), low('c', { created_at: 3 }))
  expect(queue.order.value).toEqual(['b', 'c', 'a'])
  expect(queue.rows.value.map((r) => r.gone)).toEqual([true, false, false])
  vi.advanceTimersByTime(999)
  expect(queue.order.value).toHaveLength(3)
  vi.advanceTimersByTime(1)
  expect(queue.order.value).not.toContain('b')
  expect(queue.order.value).toHaveLength(2)
})

test('what was decided here stays in its place while it is shown, and for some seconds', async () => {
  const [a, b, c] = ['a', 'b', 'c'].map((id, i) => low(id, { created_at: i * 60 })) as [Request, Request, Request]
  const { queue, show } = inbox(a, b, c)
  const store = useSessions()
  const seen = () => queue.rows.value.map((r) => [r.id, r.decision])
  shown.value = 'b'
  ownDecisions.set('b', { decision: 'deny' })
  Object.assign(store.state, { acks: new Map([['b', { type: 'ack', command_id: 'x', result: 'applied' }]]) })
  expect(seen()).toEqual([
    ['a', undefined],
    ['b', 'deny'],
    ['c', undefined],
  ])
  await show(a, c)
  vi.advanceTimersByTime(60_000)
  expect(seen()[1]).toEqual(['b', 'deny'])
  shown.value = 'a'
  await nextTick()
  expect(seen()).toHaveLength(2)

  ownDecisions.set('a', { decision: 'allow' })
  await show(c)
  shown.value = 'c'
  await nextTick()
  expect(seen()).toEqual([
    ['a', 'allow'],
    ['c', undefined],
  ])
  vi.advanceTimersByTime(5_000)
  expect(seen()).toEqual([['c', undefined]])
  // What another answered is only no longer open.
  queue.touch()
  await show()
  expect(seen()).toEqual([['c', undefined]])
})

test('reorders at once when the person asks for it, even under the pointer', async () => {
  const { queue } = inbox(low('a'), request('b'))
  queue.touch()
  queue.filter.value = { ...queue.filter.value, tool: 'Read' }
  queue.refilter()
  expect(queue.order.value).toEqual(['a'])
  expect(queue.filtering.value).toBe(true)
  queue.clearFilter()
  expect([...queue.order.value].toSorted()).toEqual(['a', 'b'])
})

test('puts a snoozed request last and does not continue with it', async () => {
  const { queue } = inbox(low('a'), low('b'))
  expect(queue.snooze('a')).toBe(true)
  await nextTick()
  expect(queue.order.value).toEqual(['b', 'a'])
  expect(queue.left.value).toEqual(['b'])
  expect(queue.rows.value.at(-1)).toMatchObject({ id: 'a', snoozedFor: 10 })
  expect(queue.snooze('a')).toBe(false)
  expect(queue.snooze('gone')).toBeUndefined()
})

test('selects any request, or the low-risk requests of one tool at once, and forgets closed ones', async () => {
  const { queue, selection, show } = inbox(low('a'), low('b'), low('c', { tool_name: 'Grep' }), request('d'))
  const selected = () => selection.selected.value.map((w) => w.request.request_id)
  expect([selection.offered.value, selection.selecting.value]).toEqual([true, false])
  selection.selectLow()
  expect([selected(), selection.selecting.value]).toEqual([['a', 'b'], true])
  expect(selection.toggle('d')).toBe(true)
  expect(selection.toggle('a')).toBe(true)
  expect(selected()).toEqual(['b', 'd'])
  expect(selection.toggle('nobody')).toBe(false)
  queue.touch()
  await show(low('a'), request('d'))
  expect(selected()).toEqual(['d'])
  selection.stop()
  expect([selected(), selection.selecting.value]).toEqual([[], false])
  vi.advanceTimersByTime(1_000)
})

test('a group is one row, which is selected as a whole and found by each of its requests', async () => {
  const burst = ['a', 'b', 'c'].map((id, i) => low(id, { created_at: i }))
  const { queue, selection, show } = inbox(...burst, low('d', { created_at: 60 }))
  expect(queue.rows.value.map((r) => [r.id, r.what])).toEqual([
    ['a', 'Read: 3 requests'],
    ['d', 'Read: a'],
  ])
  expect(queue.find('c')?.id).toBe('a')
  expect(queue.isOpen('b')).toBe(true)
  selection.toggle('b')
  expect(selection.units.value).toHaveLength(1)
  expect(selection.selected.value).toHaveLength(3)
  expect(queue.snooze('c')).toBe(true)
  expect(queue.isSnoozed('a')).toBe(true)
  queue.touch()
  await show(burst[2]!, low('d', { created_at: 60 }))
  expect(queue.rows.value.map((r) => [r.id, r.gone])).toEqual([
    ['a', false],
    ['d', false],
  ])
  vi.advanceTimersByTime(1_000)
})

import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { effectScope, type EffectScope } from 'vue'
import { useSessions } from '@/state/sessions'
import type { Request } from '@/wire/messages.gen'
import { drafts } from './drafts'
import { newHour, NOW, process, request } from './testdock'
import { useClosedNotices } from './useClosedNotices'

let scope: EffectScope
beforeEach(() => {
  newHour()
  vi.useFakeTimers({ now: NOW })
  localStorage.clear()
  setActivePinia(createPinia())
  scope = effectScope()
})
afterEach(() => {
  scope.stop()
  vi.useRealTimers()
})

/** The requests of a session are these now. */
function requests(list: Request[]) {
  useSessions().apply([process(list)], { now: Date.now(), commandOf: () => undefined })
}
function notices(hasOutcome = false) {
  return scope.run(() =>
    useClosedNotices(
      () => useSessions().session('s')!,
      () => undefined,
      () => hasOutcome,
    ),
  )!
}
const ids = (it: ReturnType<typeof notices>) => it.notices.value.map((one) => one.closed.request.request_id)

test('a request that closes elsewhere is announced for some seconds', () => {
  requests([request('a')])
  const it = notices()
  expect(ids(it)).toEqual([])
  requests([])
  expect(ids(it)).toEqual(['a'])
  vi.advanceTimersByTime(7_000)
  expect(ids(it)).toEqual([])
})

test('a request whose outcome is visible in its place is not announced', () => {
  requests([request('a')])
  const it = notices(true)
  requests([])
  expect(ids(it)).toEqual([])
})

test('a draft for a closed request is kept until it is dismissed', () => {
  requests([request('a')])
  drafts.set('request:a', { reason: 'Not on a Friday.' })
  const it = notices()
  requests([])
  vi.advanceTimersByTime(60_000)
  expect(it.notices.value.map((one) => one.unsent)).toEqual(['Not on a Friday.'])
  it.dismiss('a')
  expect(ids(it)).toEqual([])
  expect(drafts.get('request:a')).toBe(null)
})

test('when many close at once the last three are announced, or only the last next to an open one', () => {
  const all = ['a', 'b', 'c', 'd'].map((id) => request(id))
  requests(all)
  const it = notices()
  requests([])
  expect(ids(it)).toEqual(['b', 'c', 'd'])
  requests([request('e')])
  expect(ids(it)).toEqual(['d'])
})

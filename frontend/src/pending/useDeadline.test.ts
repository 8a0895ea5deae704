import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { effectScope, nextTick, ref, type EffectScope } from 'vue'
import { rest, UnreachableError } from '@/connection/rest'
import { t } from '@/i18n'
import { request } from '@/testcards'
import * as announcer from '@/ui/announce'
import { useDeadline } from './useDeadline'

const NOW = 1_763_692_800_000
let scope: EffectScope

beforeEach(() => {
  vi.useFakeTimers({ now: NOW })
  setActivePinia(createPinia())
  scope = effectScope()
})
afterEach(() => {
  scope.stop()
  vi.useRealTimers()
})

const expiring = (inSeconds: number | null, createdAgo = 10) =>
  request('a', {
    created_at: NOW / 1000 - createdAgo,
    expires_at: inSeconds === null ? null : NOW / 1000 + inSeconds,
  })

test('a request without an expiry has no deadline', () => {
  const deadline = scope.run(() =>
    useDeadline(
      () => expiring(null),
      () => true,
    ),
  )!
  expect([deadline.left, deadline.extendable]).toEqual([null, false])
})

test('counts down, and announces a minute once, not each second', async () => {
  const announce = vi.spyOn(announcer, 'announce')
  const deadline = scope.run(() =>
    useDeadline(
      () => expiring(62),
      () => true,
    ),
  )!
  expect(deadline.left).toBe(62)
  for (let i = 0; i < 4; i++) {
    vi.advanceTimersByTime(1000)
    await nextTick()
  }
  expect(deadline.left).toBe(58)
  expect(announce).toHaveBeenCalledTimes(1)
})

test('can be extended by people who may answer, up to half an hour from the start', () => {
  const answerable = ref(true)
  const early = scope.run(() =>
    useDeadline(
      () => expiring(60),
      () => answerable.value,
    ),
  )!
  expect(early.extendable).toBe(true)
  answerable.value = false
  expect(early.extendable).toBe(false)
  const late = scope.run(() =>
    useDeadline(
      () => expiring(60, 1_740),
      () => true,
    ),
  )!
  expect(late.extendable).toBe(false)
})

test('says why an extension failed', async () => {
  vi.spyOn(rest, 'extend').mockRejectedValueOnce(new UnreachableError())
  const deadline = scope.run(() =>
    useDeadline(
      () => expiring(60),
      () => true,
    ),
  )!
  await deadline.extend()
  expect([deadline.extending, deadline.problem]).toEqual([false, t.connection.unreachable])
})

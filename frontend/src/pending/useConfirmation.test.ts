import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { effectScope, nextTick, ref, shallowRef, type EffectScope } from 'vue'
import { request } from '@/testcards'
import { setMedia } from '@/testsetup'
import { HOLD_MS } from './hold'
import type { Phase } from './phase'
import { useConfirmation } from './useConfirmation'

let scope: EffectScope
beforeEach(() => {
  vi.useFakeTimers()
  scope = effectScope()
})
afterEach(() => {
  scope.stop()
  setMedia('(pointer: coarse)', false)
  vi.useRealTimers()
})

function confirmation(allowed = true) {
  const approve = vi.fn<(touch: boolean) => void>()
  const focus = vi.fn<() => void>()
  const phase = shallowRef({ kind: 'open' } as Phase)
  const required = ref(true)
  const view = ref('')
  const card = shallowRef({ focus, may: () => allowed })
  const it = scope.run(() => useConfirmation(request('a'), phase, required, card, () => view.value, approve))!
  return { ...it, approve, focus, phase, required, view }
}

test('a key that is held long enough approves once', () => {
  const it = confirmation()
  it.holdKey()
  expect([it.confirming.value, it.holding.value]).toEqual([true, true])
  vi.advanceTimersByTime(HOLD_MS - 1)
  expect(it.approve).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(it.approve).toHaveBeenCalledTimes(1)
  expect(it.holding.value).toBe(false)
})

test.each(['keyup', 'blur'])('%s before then approves nothing', (event) => {
  const it = confirmation()
  it.holdKey()
  dispatchEvent(new Event(event))
  vi.advanceTimersByTime(HOLD_MS)
  expect([it.holding.value, it.confirming.value]).toEqual([false, true])
  expect(it.approve).not.toHaveBeenCalled()
})

test('the approval is checked again at the end', () => {
  const it = confirmation(false)
  it.holdKey()
  vi.advanceTimersByTime(HOLD_MS)
  expect(it.approve).not.toHaveBeenCalled()
})

test.each<[string, (it: ReturnType<typeof confirmation>) => unknown]>([
  ['the confirmation was closed', (it) => it.stopConfirming()],
  ['the card showed something else', (it) => (it.view.value = 'denying')],
  [
    'the card showed something else for a moment',
    (it) => {
      it.view.value = 'denying'
      it.view.value = ''
    },
  ],
  ['no confirmation was required any more', (it) => (it.required.value = false)],
])('a key that is still held after %s approves nothing', async (_, happens) => {
  const it = confirmation()
  it.holdKey()
  vi.advanceTimersByTime(HOLD_MS - 100)
  happens(it)
  await nextTick()
  vi.advanceTimersByTime(HOLD_MS)
  expect(it.approve).not.toHaveBeenCalled()
})

test('a card that is gone approves nothing', () => {
  const it = confirmation()
  it.holdKey()
  scope.stop()
  vi.advanceTimersByTime(HOLD_MS)
  expect(it.approve).not.toHaveBeenCalled()
})

test('the field for the word gets the focus unless that opens an on-screen keyboard', () => {
  const it = confirmation()
  it.startConfirming()
  expect([it.confirming.value, it.focusWord.value]).toEqual([true, true])
  it.stopConfirming()
  expect(it.confirming.value).toBe(false)
  expect(it.focus).toHaveBeenCalledTimes(1)
  setMedia('(pointer: coarse)', true)
  it.startConfirming()
  expect(it.focusWord.value).toBe(false)
})

test('ends when it is no longer required, and when the answer is held', async () => {
  const it = confirmation()
  it.startConfirming()
  it.required.value = false
  await nextTick()
  expect(it.confirming.value).toBe(false)
  it.startConfirming()
  it.phase.value = { kind: 'held' } as Phase
  await nextTick()
  expect(it.confirming.value).toBe(false)
})

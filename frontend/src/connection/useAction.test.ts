import { expect, test, vi } from 'vitest'
import { t } from '@/i18n'
import { UnreachableError } from './rest'
import { useAction } from './useAction'

test('an action is busy until it ends, and returns its result', async () => {
  const { busy, done, run } = useAction()
  let resolve: (text: string) => void = () => {}
  const promise = new Promise<string>((r) => (resolve = r))
  const running = run(() => promise)
  expect(busy.value).toBe(true)
  resolve('Saved')
  expect(await running).toBe(true)
  expect([busy.value, done.value]).toEqual([false, 'Saved'])
})

test('a second start during an action does nothing', async () => {
  const { run } = useAction()
  let resolve = () => {}
  const promise = new Promise<void>((r) => (resolve = r))
  const running = run(() => promise)
  const second = vi.fn<() => Promise<void>>()
  expect(await run(second)).toBe(false)
  expect(second).not.toHaveBeenCalled()
  resolve()
  expect(await running).toBe(true)
})

test('an error is shown until the next action starts', async () => {
  const { busy, error, done, run } = useAction()
  expect(await run(() => Promise.reject(new UnreachableError()))).toBe(false)
  expect([busy.value, error.value, done.value]).toEqual([false, t.connection.unreachable, ''])
  await run(async () => 'Saved')
  expect([error.value, done.value]).toEqual(['', 'Saved'])
})

test('the page is reloaded before the next action, also after an error', async () => {
  const after = vi.fn<() => Promise<void>>().mockResolvedValue()
  const { run } = useAction(undefined, after)
  await run(async () => undefined)
  await run(() => Promise.reject(new UnreachableError()))
  expect(after).toHaveBeenCalledTimes(2)
})

test('an action succeeds even if the page cannot be reloaded, and the next one can start', async () => {
  const { busy, error, done, run } = useAction(undefined, () => Promise.reject(new UnreachableError()))
  expect(await run(async () => 'Saved').catch(() => 'threw')).toBe(true)
  expect([busy.value, done.value, error.value]).toEqual([false, 'Saved', t.connection.unreachable])
  expect(await run(async () => undefined).catch(() => 'threw')).toBe(true)
})

test('a page can describe its own errors', async () => {
  const { error, run } = useAction((err) => (err instanceof RangeError ? 'Too large' : ''))
  await run(() => Promise.reject(new RangeError()))
  expect(error.value).toBe('Too large')
  await run(() => Promise.reject(new Error('known')))
  expect(error.value).toBe('')
})

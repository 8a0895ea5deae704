import { flushPromises, mount } from '@vue/test-utils'
import { defineAsyncComponent, h } from 'vue'
import { expect, test, vi } from 'vitest'
import { AGAIN_MS, persist } from './persist'

test('a part that failed is there once it can be loaded, without a reload', async () => {
  vi.useFakeTimers()
  let failing = 2
  const load = vi.fn<() => Promise<{ render(): unknown }>>(() =>
    failing-- > 0
      ? Promise.reject(new TypeError('Failed to fetch'))
      : Promise.resolve({ render: () => h('p', 'here') }),
  )
  const Part = defineAsyncComponent(() => persist(load))
  const page = mount({ render: () => h('main', h(Part)) })
  await flushPromises()
  expect(page.text()).toBe('')
  await vi.advanceTimersByTimeAsync(AGAIN_MS)
  expect(page.text()).toBe('')
  await vi.advanceTimersByTimeAsync(AGAIN_MS)
  await flushPromises()
  expect(page.text()).toBe('here')
  expect(load).toHaveBeenCalledTimes(3)
})

import { mount } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'
import { defineComponent, ref } from 'vue'
import { useFound } from './useFound'

test('a search is aborted when the words change and when the list is closed', async () => {
  vi.useFakeTimers()
  const words = ref('he')
  const signals: AbortSignal[] = []
  const page = mount(
    defineComponent({
      setup() {
        return useFound<string>(
          () => words.value,
          (_, __, signal) => {
            signals.push(signal)
            return new Promise((_resolve, reject) => {
              signal.addEventListener('abort', () => reject(new Error('aborted')))
            })
          },
          { delayMs: 300, delayFirstMs: 300 },
        )
      },
      template: '<p>{{ problem }}</p>',
    }),
  )
  await vi.advanceTimersByTimeAsync(300)
  expect(signals.map((s) => s.aborted)).toEqual([false])
  words.value = 'her'
  await vi.advanceTimersByTimeAsync(1)
  expect(signals.map((s) => s.aborted)).toEqual([true])
  expect(page.text()).toBe('')
  await vi.advanceTimersByTimeAsync(300)
  expect(signals.map((s) => s.aborted)).toEqual([true, false])
  page.unmount()
  expect(signals.map((s) => s.aborted)).toEqual([true, true])
  vi.useRealTimers()
})

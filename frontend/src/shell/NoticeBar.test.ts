import { createPinia, setActivePinia } from 'pinia'
import { mount } from '@vue/test-utils'
import { expect, test } from 'vitest'
import { nextTick } from 'vue'
import { useSessions } from '@/state/sessions'
import NoticeBar from './NoticeBar.vue'

test('says why nothing can be stored, and disappears by itself', async () => {
  const pinia = createPinia()
  setActivePinia(pinia)
  const store = useSessions()
  const bar = mount(NoticeBar, { global: { plugins: [pinia] } })
  const tell = async (message: string) => {
    store.apply([{ type: 'notice', code: message ? 'read_only' : 'none', message }], {
      now: 0,
      commandOf: () => undefined,
    })
    await nextTick()
  }
  // The live region is there before its words: else they are not spoken.
  expect(bar.get('[role=alert]').text()).toBe('')
  await tell('The disk is full.')
  expect(bar.text()).toBe('')
  store.setStatus({ kind: 'open' })
  await nextTick()
  expect(bar.text()).toBe('The disk is full.')
  await tell('')
  expect(bar.text()).toBe('')
})

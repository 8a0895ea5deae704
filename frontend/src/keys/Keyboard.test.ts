import { enableAutoUnmount, mount } from '@vue/test-utils'
import { createPinia } from 'pinia'
import { afterEach, expect, test } from 'vitest'
import { createMemoryHistory, createRouter } from 'vue-router'
import { taken } from './deeds'
import Keyboard from './Keyboard.vue'

enableAutoUnmount(afterEach)

test('a session can be begun by key as soon as it is known who one is', async () => {
  const router = createRouter({ history: createMemoryHistory(), routes: [{ path: '/', component: { template: '' } }] })
  const keys = mount(Keyboard, { props: { mayRun: false }, attachTo: document.body, global: { plugins: [createPinia(), router] } })
  expect(taken('create')).toBe(false)
  await keys.setProps({ mayRun: true })
  expect(taken('create')).toBe(true)
  document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'c', bubbles: true }))
  expect(keys.emitted('create')).toHaveLength(1)
  await keys.setProps({ mayRun: false })
  expect(taken('create')).toBe(false)
})

import { enableAutoUnmount, mount } from '@vue/test-utils'
import { createPinia } from 'pinia'
import { afterEach, expect, test } from 'vitest'
import { createMemoryHistory, createRouter } from 'vue-router'
import KeyHint from '@/pending/KeyHint.vue'
import { leads } from '@/ui/announce'
import { setSingleKeys, taken } from './deeds'
import Keyboard from './Keyboard.vue'
import { remap, writtenOf } from './table'

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

test('what is said of a request ends with the key that leads there now', () => {
  const router = createRouter({ history: createMemoryHistory(), routes: [{ path: '/', component: { template: '' } }] })
  expect(leads.there(false)).toBe('')
  const keys = mount(Keyboard, { props: { mayRun: false }, global: { plugins: [createPinia(), router] } })
  expect(leads.there(false)).toBe(' Press Alt+period to review.')
  remap({ toRequest: 'Alt+r' })
  expect(leads.there(true)).toBe(' Press Alt+r to answer.')
  remap({ toRequest: 'w' })
  setSingleKeys(false)
  expect(leads.there(true)).toBe('')
  keys.unmount()
  expect(leads.there(true)).toBe('')
  setSingleKeys(true)
  remap({})
})

test('the hint under the message names the keys there are', async () => {
  const hint = mount(KeyHint)
  expect(hint.text()).toBe('Alt+. goes to the request. Alt+, comes back here.')
  remap({ toRequest: 'w' })
  setSingleKeys(false)
  await hint.vm.$nextTick()
  expect(hint.text()).toBe('Alt+, comes back here.')
  expect(writtenOf('sides')).toBe('')
  setSingleKeys(true)
  remap({})
  expect(writtenOf('sides')).toBe('d')
})

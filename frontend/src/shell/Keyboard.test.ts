import { mount } from '@vue/test-utils'
import { createPinia } from 'pinia'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { defineComponent } from 'vue'
import { createMemoryHistory, createRouter } from 'vue-router'
import KeyHint from '@/pending/KeyHint.vue'
import { leads } from '@/ui/announce'
import { hasShortcut, useShortcuts } from '@/keys/shortcuts'
import { setSingleKeys } from '@/keys/single'
import { keepEarly, takeEarly } from '@/keys/early'
import { LATER } from '@/keys/keyboard'
import Keyboard from './Keyboard.vue'
import { ids, remap, table, writtenOf } from '@/keys/table'

test('a session can be started by key as soon as the user is known', async () => {
  const router = createRouter({ history: createMemoryHistory(), routes: [{ path: '/', component: { template: '' } }] })
  const keys = mount(Keyboard, {
    props: { mayRun: false },
    attachTo: document.body,
    global: { plugins: [createPinia(), router] },
  })
  expect(hasShortcut('create')).toBe(false)
  await keys.setProps({ mayRun: true })
  expect(hasShortcut('create')).toBe(true)
  document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'c', bubbles: true }))
  expect(keys.emitted('create')).toHaveLength(1)
  await keys.setProps({ mayRun: false })
  expect(hasShortcut('create')).toBe(false)
})

test('the announcement of a request ends with the key that goes to it now', () => {
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

test('the hint under the message names the available keys', async () => {
  const hint = mount(KeyHint)
  expect(hint.text()).toBe('Press Alt+. to go to the request. Press Alt+, to return here.')
  remap({ toRequest: 'w' })
  setSingleKeys(false)
  await hint.vm.$nextTick()
  expect(hint.text()).toBe('Press Alt+, to return here.')
  expect(writtenOf('sides')).toBe('')
  setSingleKeys(true)
  remap({})
  expect(writtenOf('sides')).toBe('d')
})

const press = (key: string, more: KeyboardEventInit = {}, at: Element = document.body) =>
  at.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more }))

/** Mounts a part of the page that does something with keys. */
const part = (actions: Parameters<typeof useShortcuts>[0]) =>
  mount(defineComponent({ setup: () => useShortcuts(actions), render: () => null }))

function keyboard() {
  const router = createRouter({
    history: createMemoryHistory(),
    routes: [{ path: '/:any*', component: { template: '' } }],
  })
  const keys = mount(Keyboard, {
    props: { mayRun: true },
    attachTo: document.body,
    global: { plugins: [createPinia(), router] },
  })
  return { keys, router }
}

describe('a key that is pressed before the page listens', () => {
  beforeEach(keepEarly)
  afterEach(() => {
    takeEarly()
    vi.useRealTimers()
  })

  test('runs its action once', () => {
    press('c')
    expect(keyboard().keys.emitted('create')).toHaveLength(1)
  })

  test('works for two-key shortcuts, in time or not', async () => {
    press('g')
    const { router } = keyboard()
    press('i')
    await vi.waitFor(() => expect(router.currentRoute.value.path).toBe('/inbox'))
  })

  test('waits until the user is known', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { keys } = keyboard()
    await keys.setProps({ mayRun: false })
    press('c')
    vi.advanceTimersByTime(100)
    expect(keys.emitted('create')).toBeUndefined()
    await keys.setProps({ mayRun: true })
    vi.advanceTimersByTime(100)
    expect(keys.emitted('create')).toHaveLength(1)
  })

  test('waits for the part of the page that handles it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    press('/')
    keyboard()
    let there = false
    const search = vi.fn<() => unknown>(() => (there ? undefined : 'later'))
    part({ search })
    vi.advanceTimersByTime(200)
    expect(search).toHaveBeenCalled()
    there = true
    search.mockClear()
    vi.advanceTimersByTime(500)
    expect(search).toHaveBeenCalledOnce()
  })

  test('never decides, chooses or snoozes', () => {
    for (const id of LATER) expect(['everywhere', 'session']).toContain(table[id].scope)
    const action = vi.fn<() => void>()
    part(Object.fromEntries(ids.filter((id) => !LATER.includes(id)).map((id) => [id, action])))
    for (const key of ['y', 'n', 'N', 'Y', 'x', 'z', 'a', 'e', '1', 'Enter', 'Escape']) press(key)
    press('Enter', { ctrlKey: true })
    keyboard()
    expect(action).not.toHaveBeenCalled()
  })

  test('runs nothing after an action that opened something', () => {
    const search = vi.fn<() => void>()
    part({ search })
    for (const key of '/cc') press(key)
    const { keys } = keyboard()
    expect(search).toHaveBeenCalledOnce()
    expect(keys.emitted('create')).toBeUndefined()
  })

  test('is dropped after typing, or after another action', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    document.body.innerHTML = '<input type="password">'
    press('c', {}, document.querySelector('input')!)
    press('/')
    expect(keyboard().keys.emitted('create')).toBeUndefined()
    press('Shift')
    const search = vi.fn<() => void>()
    part({ search })
    vi.advanceTimersByTime(1_000)
    expect(search).not.toHaveBeenCalled()
  })

  test('is dropped on another page', () => {
    press('c')
    history.replaceState(null, '', '/elsewhere')
    expect(keyboard().keys.emitted('create')).toBeUndefined()
    history.replaceState(null, '', '/')
  })
})

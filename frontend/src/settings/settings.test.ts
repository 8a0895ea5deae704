import { flushPromises, mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { choose } from '@/i18n'
import type { Alerts } from '@/wire/messages.gen'
import Settings from './Settings.vue'

const alerts: Alerts = {
  push_key: '',
  targets: [{ target_id: 'a1', way: 'webhook', name: 'example.org', created_at: 1, sent_at: 0, problem: '' }],
  choices: {
    wanted: { waiting: [], finished: [], died: [] },
    all_sessions: false,
    show_text: false,
    remind_after: 0,
    escalate_after: 0,
    quiet: null,
    language: 'en',
  },
}
let tested: object = {}

beforeEach(() => {
  setActivePinia(createPinia())
  vi.stubGlobal(
    'fetch',
    vi.fn(async (path: string) => {
      if (path.endsWith('/test')) return new Response(JSON.stringify(tested))
      if (path === '/api/alerts') return new Response(JSON.stringify(alerts))
      return new Response(null, { status: 204 })
    }),
  )
})
afterEach(async () => {
  await choose('en')
  vi.unstubAllGlobals()
})

async function open() {
  const wrapper = mount(Settings, { attachTo: document.body, global: { stubs: { RouterLink: true } } })
  await flushPromises()
  return wrapper
}

test('typed text stays when the language changes', async () => {
  const wrapper = await open()
  await wrapper.find('input[type=url]').setValue('https://example.org/hook')
  await choose('de')
  await flushPromises()
  expect(wrapper.text()).toContain('Benachrichtigungen')
  expect(wrapper.find<HTMLInputElement>('input[type=url]').element.value).toBe('https://example.org/hook')
})

test('a failed test notification says why, and a successful one that it was sent', async () => {
  const wrapper = await open()
  const button = wrapper.find('button[aria-label="Send a test to example.org"]')
  tested = { problem: 'It did not answer.' }
  await button.trigger('click')
  await flushPromises()
  expect(wrapper.find('[role=alert]').text()).toBe('Test not sent to example.org. It did not answer.')
  tested = { problem: '' }
  await button.trigger('click')
  await flushPromises()
  expect(wrapper.find('[role=alert]').exists()).toBe(false)
  expect(wrapper.text()).toContain('Test sent to example.org.')
})

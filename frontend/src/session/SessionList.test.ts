import { flushPromises, mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { expect, test, vi } from 'vitest'
import { createMemoryHistory, createRouter } from 'vue-router'
import { process, request } from '@/pending/testdock'
import type { ProcessState } from '@/wsapi/messages.gen'
import { portKey, type Port } from '@/wsapi/port'
import SessionList from './SessionList.vue'
import { useSessions } from './sessions'

function list(processes: ProcessState[], role: 'viewer' | 'member' = 'member') {
  const pinia = createPinia()
  setActivePinia(pinia)
  const store = useSessions()
  store.apply([
    { type: 'hello', protocol: 1, server_version: '0', node_id: 'n', user: { name: 'ada', role }, server_time: Date.now() / 1000 },
    { type: 'active_processes', processes },
  ], { now: Date.now(), commandOf: () => undefined })
  const answer = vi.fn<Port['answer']>()
  const router = createRouter({ history: createMemoryHistory(), routes: [{ path: '/:any(.*)*', component: { template: '<p></p>' } }] })
  const shown = mount(SessionList, { global: { plugins: [pinia, router], provide: { [portKey as symbol]: { answer } as unknown as Port } }, attachTo: document.body })
  return { shown, answer, quick: () => shown.findAll('button').filter((b) => b.text().startsWith('Approve')) }
}

const low = () => process([request('a', { risk: 'low', tool_input: { command: 'git status && git diff --stat' } })])

test('what is of low risk is approved from the list, once the whole of it was shown', async () => {
  const { quick, answer } = list([low()])
  expect(quick()).toHaveLength(1)
  await quick()[0]!.trigger('click')
  await vi.waitFor(() => expect(document.querySelector('dialog')?.textContent).toContain('command: git status && git diff --stat'), { timeout: 20_000 })
  expect(answer).not.toHaveBeenCalled()
  await flushPromises()
})

test('what may be risky, and what is not theirs to answer, is not', () => {
  expect(list([process([request('b', { risk: 'medium' })])]).quick()).toHaveLength(0)
  expect(list([process([request('c', { risk: 'high' })])]).quick()).toHaveLength(0)
  expect(list([low()], 'viewer').quick()).toHaveLength(0)
})

// @vitest-environment jsdom
import { createPinia, setActivePinia } from 'pinia'
import { afterEach, expect, it, vi } from 'vitest'
import { effectScope, nextTick, ref } from 'vue'
import { useSessions } from '@/state/sessions'
import type { ProcessState } from '@/wire/messages.gen'
import { watchAttention } from './attention'
import { golden } from '@/testframes'

const scope = effectScope()
vi.useFakeTimers()
afterEach(() => {
  scope.stop()
  vi.useRealTimers()
})

it('the title names what waits, and the icon shows the state', async () => {
  document.head.innerHTML = '<link rel="icon" href="/favicon.svg">'
  setActivePinia(createPinia())
  const store = useSessions()
  const current = ref<string | undefined>()
  const page = ref<string>()
  scope.run(() =>
    watchAttention(
      () => current.value,
      () => page.value,
    ),
  )
  let version = 100
  const become = async (title: string, more: Partial<ProcessState>) => {
    const { pending_request: _, ...one } = golden<ProcessState>('process_state.many_requests')
    store.apply([{ ...one, title, version: version++, pending_requests: [], ...more }], {
      now: 0,
      commandOf: () => undefined,
    })
    await nextTick()
    return one
  }
  const seen = (title: string, icon: string) => {
    vi.runAllTimers()
    expect([document.title, document.querySelector('link')!.getAttribute('href')]).toEqual([title, icon])
  }

  seen('sayso', '/favicon.svg')
  const one = await become('api-server', { state: 'assistant_turn' })
  seen('sayso', '/favicon-running.svg')
  await become('api-server', { state: 'assistant_turn', pending_requests: one.pending_requests })
  // It is named although no session is open.
  seen(`(${one.pending_requests.length}) api-server · sayso`, '/favicon-waiting.svg')
  await become('api-server', { state: 'user_turn' })
  seen('sayso', '/favicon.svg')
  page.value = 'Settings'
  await nextTick()
  seen('Settings · sayso', '/favicon.svg')
  await become('api-server', { state: 'dead' })
  current.value = one.session_id
  await nextTick()
  seen('api-server · sayso', '/favicon-failed.svg')
})

it('a hidden page updates its title at once, because it draws nothing first', () => {
  document.title = ''
  setActivePinia(createPinia())
  vi.spyOn(document, 'hidden', 'get').mockReturnValue(true)
  effectScope().run(() =>
    watchAttention(
      () => undefined,
      () => undefined,
    ),
  )
  expect(document.title).toBe('sayso')
})

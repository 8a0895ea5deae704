import { describe, expect, test } from 'vitest'
import { effectScope, nextTick, shallowRef } from 'vue'
import type { SessionState } from '@/state/reducer'
import { useSessionActions } from './useSessionActions'

const state = (of: Partial<SessionState>) => ({ session_id: 's1', state: 'dead', ...of }) as SessionState

function actions() {
  const session = shallowRef(state({}))
  return { session, ...effectScope().run(() => useSessionActions(() => session.value))! }
}

describe('the actions of a session', () => {
  test('an action in flight for one session does not block the next session', async () => {
    const { session, busy, problem, run } = actions()
    let fail: (err: Error) => void = () => undefined
    const slow = run('interrupt', () => new Promise((_, reject) => (fail = reject)))
    expect(busy.value).toBe('interrupt')

    session.value = state({ session_id: 's2' })
    await nextTick()
    expect(busy.value).toBeNull()
    let called = false
    await run('mode', async () => void (called = true))
    expect(called).toBe(true)

    fail(new Error('late'))
    await slow
    expect(problem.value).toBe('')
  })

  test('an action is busy until its response, even if the state already shows its effect', async () => {
    const { session, busy, run } = actions()
    let answer: () => void = () => undefined
    const slow = run('resume', () => new Promise<void>((resolve) => (answer = resolve)))
    session.value = state({ state: 'user_turn' })
    await nextTick()
    expect(busy.value).toBe('resume')
    answer()
    await slow
    expect(busy.value).toBeNull()
  })

  test('a resume is busy until the state has changed', async () => {
    const { session, busy, run } = actions()
    await run('resume', async () => undefined)
    expect(busy.value).toBe('resume')
    session.value = state({ state: 'user_turn' })
    await nextTick()
    expect(busy.value).toBeNull()
  })
})

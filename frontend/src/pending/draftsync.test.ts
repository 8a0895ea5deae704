import { createPinia, setActivePinia } from 'pinia'
import { effectScope, nextTick } from 'vue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { useSessions } from '@/state/sessions'
import type { KeptDraft } from '@/wire/messages.gen'
import type { Port } from '@/connection/port'
import { drafts, live, merges, useDraft } from './drafts'
import { resolveMerge, syncDrafts, draftText } from './draftsync'

let stop = () => {}
const scope = { current: effectScope() }
beforeEach(() => {
  localStorage.clear()
  merges.clear()
  live.clear()
  vi.useFakeTimers()
  scope.current = effectScope()
})
afterEach(() => {
  stop()
  scope.current.stop()
  vi.useRealTimers()
})

function device(connected = true) {
  setActivePinia(createPinia())
  const store = useSessions()
  store.setStatus(connected ? { kind: 'open' } : { kind: 'connecting', since: 0 })
  const sent: { of: object; value: unknown; id: string }[] = []
  const port = {
    draft(of: object, value: unknown) {
      if (!store.connected) return null
      const id = `c${sent.length + 1}`
      sent.push({ of, value: JSON.parse(JSON.stringify(value)), id })
      return id
    },
  } as unknown as Port
  stop = syncDrafts(store, port)
  let at = 0
  return {
    store,
    sent,
    write: (key = 'message:s') => scope.current.run(() => useDraft<string>(key, () => ''))!.value,
    async hear(value: unknown, more: Partial<KeptDraft> = {}) {
      store.apply([{ type: 'draft', session_id: 's', value, at: ++at, ...more }], {
        now: Date.now(),
        commandOf: () => undefined,
      })
      await nextTick()
    },
  }
}

describe('a draft', () => {
  it('is sent once the person pauses, and not again without a change', async () => {
    const d = device()
    const text = d.write()
    for (const t of ['A', 'An', 'And']) text.value = t
    expect(d.sent).toEqual([])
    vi.advanceTimersByTime(1_000)
    expect(d.sent).toEqual([{ of: { session_id: 's' }, value: 'And', id: 'c1' }])
    // Its own echo is no news, and nothing goes twice.
    await d.hear('And', { command_id: 'c1' })
    vi.advanceTimersByTime(5_000)
    expect(d.sent).toHaveLength(1)
    text.value = ''
    vi.advanceTimersByTime(1_000)
    expect(d.sent.at(-1)).toMatchObject({ value: null })
  })

  it('of a request is sent with its id', () => {
    const d = device()
    d.write('request:r').value = 'no'
    vi.advanceTimersByTime(1_000)
    expect(d.sent[0]!.of).toEqual({ request_id: 'r' })
  })

  it('from another device updates what is on the page, and what is opened later', async () => {
    const d = device()
    const text = d.write()
    await d.hear('From the phone', { command_id: 'x1' })
    expect(text.value).toBe('From the phone')
    await d.hear({ reason: 'no' }, { request_id: 'r' })
    expect(drafts.get('request:r')).toEqual({ reason: 'no' })
    await d.hear(null)
    expect(text.value).toBe('')
    vi.advanceTimersByTime(5_000)
    expect(d.sent).toEqual([])
  })

  it('that was written on both devices is lost on neither: the person chooses', async () => {
    const d = device()
    const text = d.write()
    text.value = 'Mine'
    await d.hear('Theirs', { command_id: 'x1' })
    expect(text.value).toBe('Mine')
    expect(merges.get('message:s')).toBe('Theirs')
    resolveMerge('message:s', true)
    expect(text.value).toBe('Theirs')
    expect(merges.size).toBe(0)

    text.value = 'Mine again'
    await d.hear('Theirs again', { command_id: 'x2' })
    resolveMerge('message:s', false)
    vi.advanceTimersByTime(1_000)
    expect(text.value).toBe('Mine again')
    expect(d.sent.at(-1)!.value).toBe('Mine again')
  })

  it('that was sent before continues with the other device’s version', async () => {
    const d = device()
    const text = d.write()
    text.value = 'A'
    vi.advanceTimersByTime(1_000)
    await d.hear('A and B', { command_id: 'x1' })
    expect(text.value).toBe('A and B')
    expect(merges.size).toBe(0)
  })

  it('written offline is sent after a reconnect', async () => {
    const d = device(false)
    d.write().value = 'Offline'
    vi.advanceTimersByTime(5_000)
    expect(d.sent).toEqual([])
    d.store.setStatus({ kind: 'open' })
    await nextTick()
    vi.advanceTimersByTime(1_000)
    expect(d.sent.map((s) => s.value)).toEqual(['Offline'])
  })

  it('older than the known one changes nothing', async () => {
    const d = device()
    await d.hear('New', { at: 100 })
    await d.hear('Old', { at: 50 })
    expect(drafts.get('message:s')).toBe('New')
  })

  it('is displayed as text', () => {
    expect(draftText({ reason: 'No', denying: true, form: { q: { values: ['A', 'B'], text: 'c' } } })).toBe(
      'No\nA, B\nc',
    )
  })
})

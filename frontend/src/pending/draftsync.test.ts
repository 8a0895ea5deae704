import { createPinia, setActivePinia } from 'pinia'
import { effectScope, nextTick } from 'vue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { useSessions } from '@/state/sessions'
import type { AckResult, KeptDraft } from '@/wire/messages.gen'
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
  const refusals: ((result: AckResult) => void)[] = []
  const port = {
    draft(of: object, value: unknown, refused: (result: AckResult) => void) {
      if (!store.connected) return null
      const id = `c${sent.length + 1}`
      refusals.push(refused)
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
    /** The server refuses the last draft. */
    refuse: (result: AckResult) => refusals.at(-1)!(result),
    /** The connection breaks, with whatever was on its way, and comes back. */
    async reconnect() {
      store.setStatus({ kind: 'connecting', since: 0 })
      await nextTick()
      store.setStatus({ kind: 'open' })
      await nextTick()
    },
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

  describe('that was sent into a connection that is lost', () => {
    async function lost() {
      const d = device()
      const text = d.write()
      text.value = 'Hello'
      vi.advanceTimersByTime(1_000)
      await d.hear('Hello', { command_id: 'c1', at: 1 })
      text.value = 'Hello Claude'
      vi.advanceTimersByTime(1_000)
      expect(d.sent.map((s) => s.value)).toEqual(['Hello', 'Hello Claude'])
      return { ...d, text }
    }

    it('is not replaced by the older one that the server has, and is sent again', async () => {
      const d = await lost()
      await d.reconnect()
      await d.hear('Hello', { at: 1 })
      expect(d.text.value).toBe('Hello Claude')
      vi.advanceTimersByTime(1_000)
      expect(d.sent.at(-1)).toMatchObject({ value: 'Hello Claude', id: 'c3' })
      expect(merges.size).toBe(0)
    })

    it('does not return once its message was sent', async () => {
      const d = await lost()
      d.text.value = ''
      vi.advanceTimersByTime(1_000)
      await d.reconnect()
      await d.hear('Hello', { at: 1 })
      expect(d.text.value).toBe('')
      vi.advanceTimersByTime(1_000)
      expect(d.sent.at(-1)).toMatchObject({ value: null, id: 'c4' })
    })

    it('is no draft of another device if the server has it, although it was continued here', async () => {
      const d = await lost()
      await d.reconnect()
      d.text.value = 'Hello Claude, look'
      await d.hear('Hello Claude', { at: 2 })
      expect(d.text.value).toBe('Hello Claude, look')
      expect(merges.size).toBe(0)
      vi.advanceTimersByTime(1_000)
      expect(d.sent.at(-1)!.value).toBe('Hello Claude, look')
    })

    it('is not replaced after a reload either', async () => {
      await lost()
      stop()
      scope.current.stop()
      scope.current = effectScope()
      const again = device()
      const text = again.write()
      await again.hear('Hello', { at: 1 })
      expect(text.value).toBe('Hello Claude')
      vi.advanceTimersByTime(1_000)
      expect(again.sent.map((s) => s.value)).toEqual(['Hello Claude'])
    })

    it('is a draft of its own if another device has written meanwhile', async () => {
      const d = await lost()
      await d.reconnect()
      await d.hear('Hello from the phone', { command_id: 'x1', at: 2 })
      expect(d.text.value).toBe('Hello Claude')
      expect(merges.get('message:s')).toBe('Hello from the phone')
    })
  })

  it('whose echo was replaced by that of a newer one counts as stored', async () => {
    const d = device()
    const text = d.write()
    for (const t of ['A', 'AB']) {
      text.value = t
      vi.advanceTimersByTime(1_000)
    }
    await d.hear('AB', { command_id: 'c2' })
    text.value = 'ABC'
    await d.reconnect()
    await d.hear('AB')
    expect(text.value).toBe('ABC')
    expect(merges.size).toBe(0)
  })

  it('that was refused is not replaced by an older one, and is sent again after a reconnect', async () => {
    const d = device()
    const text = d.write()
    text.value = 'Refused'
    vi.advanceTimersByTime(1_000)
    d.refuse('rejected')
    vi.advanceTimersByTime(5_000)
    expect(d.sent).toHaveLength(1)
    await d.hear('From the phone', { command_id: 'x1' })
    expect(text.value).toBe('Refused')
    resolveMerge('message:s', false)
    await d.reconnect()
    vi.advanceTimersByTime(1_000)
    expect(d.sent.map((s) => s.value)).toEqual(['Refused', 'Refused'])
  })

  it('of a request that is over is not sent again', async () => {
    const d = device()
    d.write('request:r').value = 'no'
    vi.advanceTimersByTime(1_000)
    d.refuse('already_resolved')
    await d.reconnect()
    vi.advanceTimersByTime(1_000)
    expect(d.sent).toHaveLength(1)
  })

  it('does not replace that of another device while the person is asked for one of the two', async () => {
    const d = device()
    const text = d.write()
    text.value = 'Mine'
    await d.hear('Theirs', { command_id: 'x1' })
    vi.advanceTimersByTime(1_000)
    text.value = 'Mine, continued'
    vi.advanceTimersByTime(1_000)
    await d.reconnect()
    vi.advanceTimersByTime(1_000)
    expect(d.sent).toEqual([])
    resolveMerge('message:s', false)
    vi.advanceTimersByTime(1_000)
    expect(d.sent.map((s) => s.value)).toEqual(['Mine, continued'])
  })

  it('is sent when that of the other device is deleted before the person has chosen', async () => {
    const d = device()
    d.write().value = 'Mine'
    await d.hear('Theirs', { command_id: 'x1' })
    await d.hear(null, { command_id: 'x2' })
    expect(merges.size).toBe(0)
    vi.advanceTimersByTime(1_000)
    expect(d.sent.map((s) => s.value)).toEqual(['Mine'])
  })

  describe('in two tabs of a browser', () => {
    const changed = () => dispatchEvent(new StorageEvent('storage', { key: 'sayso:draft:message:s' }))

    it('is the same in both, and is stored and sent by the tab in which it was written', () => {
      const d = device()
      drafts.set('message:s', 'Hello')
      const text = d.write()
      const stored = vi.spyOn(Storage.prototype, 'setItem')
      const removed = vi.spyOn(Storage.prototype, 'removeItem')
      drafts.set('message:s', 'Hello Claude')
      changed()
      expect(text.value).toBe('Hello Claude')
      // Sent in the other tab.
      drafts.remove('message:s')
      changed()
      expect(text.value).toBe('')
      expect([stored.mock.calls.length, removed.mock.calls.length]).toEqual([1, 1])
      vi.advanceTimersByTime(5_000)
      expect(d.sent).toEqual([])
      text.value = 'N'
      expect(drafts.get('message:s')).toBe('N')
    })

    it('is chosen for both when the person takes that of the other device', async () => {
      const d = device()
      const text = d.write()
      text.value = 'Mine'
      await d.hear('Theirs', { command_id: 'x1' })
      drafts.set('message:s', 'Theirs')
      changed()
      expect(text.value).toBe('Theirs')
      expect(merges.size).toBe(0)
    })

    it('is not shared for a new session, whose form fills itself in', () => {
      drafts.set('new-session', 'one')
      const text = device().write('new-session')
      drafts.set('new-session', 'two')
      dispatchEvent(new StorageEvent('storage', { key: 'sayso:draft:new-session' }))
      expect(text.value).toBe('one')
    })
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

import { mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { nextTick } from 'vue'
import type { Bookmark, BookmarksChange, Item } from '@/wire/messages.gen'
import CatchUp from './CatchUp.vue'
import { missedOf } from './missed'
import { useSessions } from '@/state/sessions'

beforeEach(() => {
  localStorage.clear()
  vi.useFakeTimers({ now: 1_763_692_800_000 })
})
afterEach(() => vi.useRealTimers())

const head = (seq: number) => ({ seq, rev: seq, key: `k${seq}`, at: 1, agent_id: null })
const call = (seq: number, tool_name: string, input: object, status = 'done') =>
  ({
    ...head(seq),
    kind: 'tool_call',
    tool_use_id: `t${seq}`,
    tool_name,
    input,
    input_bytes: 1,
    status,
    result_bytes: 0,
  }) as Item
const items: Item[] = [
  { ...head(1), kind: 'user', text: 'Go.' },
  call(2, 'Edit', { file_path: '/w/a' }),
  call(3, 'Edit', { file_path: '/w/a' }),
  call(4, 'Write', { file_path: '/w/b' }),
  call(5, 'Bash', { command: 'cd x && go test ./...' }, 'failed'),
  call(6, 'Bash', { command: 'ls' }),
  {
    ...head(7),
    kind: 'resolved',
    request_id: 'r',
    request_type: 'tool_approval',
    tool_name: 'Bash',
    outcome: 'answered',
    summary: '',
  } as Item,
  {
    ...head(8),
    kind: 'result',
    is_error: false,
    subtype: '',
    duration_ms: 1,
    num_turns: 1,
    cost_usd: 0,
    input_tokens: 0,
    output_tokens: 0,
  },
]

describe('missed activity', () => {
  test('is counted from the read position', () => {
    expect(missedOf(items, 2)).toEqual({
      edits: 2,
      files: 2,
      commands: 1,
      tests: 1,
      failed: 1,
      answered: 1,
      turns: 1,
      first: 'k3',
    })
    expect(missedOf(items, 0)!.edits).toBe(3)
  })
  test('is empty when there was only text, or nothing', () => {
    expect(missedOf(items, 8)).toBe(null)
    expect(missedOf([{ ...head(9), kind: 'text', text: 'Hm.' }], 8)).toBe(null)
  })
})

const apply = (bookmarks: Bookmark[]) =>
  useSessions().apply([{ type: 'bookmarks', bookmarks }], { now: Date.now(), commandOf: () => undefined })
// The server stores what is read.
const stored = vi.fn<(seen: number) => void>()
beforeEach(() => {
  stored.mockReset()
  vi.spyOn(globalThis, 'fetch').mockImplementation((_, init) => {
    const { bookmarks } = JSON.parse(String(init!.body)) as BookmarksChange
    stored(bookmarks[0]!.seen!)
    return Promise.resolve(new Response())
  })
})

describe('the line', () => {
  function show(seen: number | null, minutes: number) {
    setActivePinia(createPinia())
    const store = useSessions()
    const at = Date.now() / 1000 - minutes * 60
    apply(seen === null ? [] : [{ session_id: 's', pinned_at: null, seen, seen_at: at, at }])
    const it = mount(CatchUp, { props: { id: 's' }, attachTo: document.body })
    store.apply([{ type: 'transcript', session_id: 's', from: 0, next: 8, items, total: 8, live: null }], {
      now: Date.now(),
      commandOf: () => undefined,
    })
    return it
  }
  test('welcomes a returning person, links to the first block, and disappears', async () => {
    const it = show(2, 30)
    await nextTick()
    expect(it.text()).toContain(
      'While you were away: 2 edits in 2 files, 1 test run, 1 command, 1 request resolved, 1 failed, and 1 turn ended',
    )
    await it.find('button').trigger('click')
    expect(it.emitted('lead')).toEqual([['k3']])
    expect(it.find('section').exists()).toBe(false)
    vi.advanceTimersByTime(1_000)
    expect(stored.mock.calls).toEqual([[8]])
  })
  test('shows nothing to a person who was just here, or never was', async () => {
    for (const it of [show(2, 1), show(null, 0)]) {
      await nextTick()
      expect(it.find('section').exists()).toBe(false)
    }
  })
  test('does not count as seen what arrived while the page was hidden', async () => {
    const it = show(8, 1)
    await nextTick()
    vi.advanceTimersByTime(1_000)
    const hidden = vi.spyOn(document, 'hidden', 'get').mockReturnValue(true)
    document.dispatchEvent(new Event('visibilitychange'))
    useSessions().apply(
      [
        {
          type: 'transcript',
          session_id: 's',
          from: 8,
          next: 9,
          items: [call(9, 'Bash', { command: 'make' })],
          total: 9,
          live: null,
        },
      ],
      { now: Date.now(), commandOf: () => undefined },
    )
    await nextTick()
    vi.advanceTimersByTime(180_000)
    expect(stored).not.toHaveBeenCalledWith(9)
    hidden.mockReturnValue(false)
    document.dispatchEvent(new Event('visibilitychange'))
    await nextTick()
    expect(it.text()).toContain('1 command')
  })
})

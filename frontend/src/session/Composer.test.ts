import { mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { nextTick } from 'vue'
import { drafts } from '@/pending/drafts'
import { orphaned } from '@/testframes'
import { portKey, type Port } from '@/connection/port'
import Composer from './Composer.vue'
import { useSessions } from '@/state/sessions'

const pinia = createPinia()
const said: string[] = []
const port = {
  sendMessage: (_: string, text: string) => said.push(text),
  typing: () => {},
  cancel: () => true,
} as unknown as Port
let version = 500

beforeEach(() => {
  vi.useFakeTimers()
  setActivePinia(pinia)
  localStorage.clear()
  drafts.remove(`message:${orphaned().session_id}`)
  said.length = 0
  document.body.innerHTML = ''
})
afterEach(() => vi.useRealTimers())

/** A session at work, in which as many requests wait. */
function at(waiting: number) {
  const store = useSessions()
  store.setStatus({ kind: 'open' })
  const frame = orphaned()
  store.apply(
    [
      {
        type: 'hello',
        protocol: 1,
        server_version: '1',
        node_id: 'n',
        user: { name: 'Ada', role: 'member' },
        server_time: 0,
      },
      {
        ...frame,
        state: 'assistant_turn',
        version: ++version,
        pending_requests: waiting > 0 ? frame.pending_requests : [],
      },
    ],
    { now: 0, commandOf: () => undefined },
  )
  return store.session(frame.session_id)!
}

function composer(waiting: number) {
  const elsewhere = document.createElement('button')
  document.body.append(elsewhere)
  const w = mount(Composer, {
    props: { session: at(waiting) },
    attachTo: document.body,
    global: { plugins: [pinia], provide: { [portKey as symbol]: port } },
  })
  const field = w.find('textarea').element
  return {
    w,
    field,
    elsewhere,
    folded: () => w.text().includes('Draft saved:'),
    button: () => w.find('button[type=submit]'),
    async wait(ms = 1_000) {
      vi.advanceTimersByTime(ms)
      await nextTick()
    },
  }
}

test('a draft is one line while a request waits, and opens at its caret', async () => {
  const c = composer(0)
  await c.w.find('textarea').setValue('also please\nlook at the tests')
  expect(c.folded()).toBe(false)
  await c.w.setProps({ session: at(1) })
  expect(c.folded()).toBe(true)
  expect(c.button().text()).toBe('Queue message')

  c.field.setSelectionRange(4, 4)
  await c.w.find('textarea').trigger('mousedown')
  expect(document.activeElement).toBe(c.field)
  expect(c.folded()).toBe(false)
  expect(c.field.selectionStart).toBe(4)
  expect(c.w.emitted('moved')).toHaveLength(2)
})

test('it stays open while it has the focus, and a moment longer', async () => {
  const c = composer(0)
  c.field.focus()
  await c.w.find('textarea').setValue('also please')
  await c.w.setProps({ session: at(1) })
  await c.wait()
  expect(c.folded()).toBe(false)
  expect(document.activeElement).toBe(c.field)
  ;(c.button().element as HTMLElement).focus()
  await c.wait()
  expect(c.folded()).toBe(false)
  c.elsewhere.focus()
  await nextTick()
  expect(c.folded()).toBe(false)
  await c.wait()
  expect(c.folded()).toBe(true)
})

test('nothing under a finger moves', async () => {
  const c = composer(1)
  c.field.focus()
  await c.w.find('textarea').setValue('also please')
  c.elsewhere.dispatchEvent(new Event('pointerdown', { bubbles: true }))
  c.elsewhere.focus()
  await c.wait()
  expect(c.folded()).toBe(false)
  c.elsewhere.dispatchEvent(new Event('pointerup', { bubbles: true }))
  await nextTick()
  expect(c.folded()).toBe(false)
  await c.wait()
  expect(c.folded()).toBe(true)
})

test('it is queued from the folded line, which disappears with it', async () => {
  const c = composer(0)
  await c.w.find('textarea').setValue('also please')
  await c.w.setProps({ session: at(1) })
  ;(c.button().element as HTMLElement).focus()
  await c.wait()
  expect(c.button().text()).toBe('Queue message')
  await c.w.find('form').trigger('submit')
  expect(said).toEqual(['also please'])
  expect(c.folded()).toBe(false)
})

test('it opens again when nothing waits, and says nothing without a draft', async () => {
  const c = composer(1)
  expect(c.folded()).toBe(false)
  await c.w.find('textarea').setValue('also')
  expect(c.folded()).toBe(true)
  await c.w.setProps({ session: at(0) })
  expect(c.folded()).toBe(false)
})

test('arrow up recalls the last messages, and never replaces a draft', async () => {
  const c = composer(0)
  const { session_id } = orphaned()
  const items = ['the first', 'the second'].map((text, i) => ({
    kind: 'user' as const,
    seq: i + 1,
    rev: i + 1,
    key: `u${i}`,
    at: 1,
    agent_id: null,
    text,
  }))
  useSessions().apply(
    [{ type: 'transcript', session_id, from: 0, next: 2, items, total: 2, live: null, more: false }],
    { now: 0, commandOf: () => undefined },
  )
  const press = async (key: string) => {
    await c.w.find('textarea').trigger('keydown', { key })
    c.field.setSelectionRange(c.field.value.length, c.field.value.length)
    return c.field.value
  }
  expect(await press('ArrowUp')).toBe('the second')
  expect(await press('ArrowUp')).toBe('the first')
  expect(await press('ArrowUp')).toBe('the first')
  expect(await press('ArrowDown')).toBe('the second')
  expect(await press('ArrowDown')).toBe('')
  await c.w.find('textarea').setValue('my own')
  expect(await press('ArrowUp')).toBe('my own')
  await press('ArrowUp')
  await c.w.find('textarea').setValue('the second')
  expect(await press('ArrowUp')).toBe('the second')
})

test('@ finds files, / finds commands, and keys choose them', async () => {
  vi.useRealTimers()
  const asked: string[] = []
  const commands = ['compact', 'clear'].map((name) => ({
    name,
    description: '',
    argument_hint: '',
    aliases: [],
    builtin: true,
  }))
  vi.stubGlobal('fetch', async (path: string) => {
    asked.push(path)
    if (path.includes('q=gone')) throw new Error('no network')
    const catalog = { running: true, cli_version: '', commands, agents: [], models: [] }
    return new Response(
      JSON.stringify(
        path.endsWith('/catalog')
          ? catalog
          : path.includes('/files/')
            ? { paths: ['src/limiter.go', 'src/my limiter.go'], more: false }
            : { models: [], cli_version: '' },
      ),
    )
  })
  const c = composer(0)
  const field = c.w.find('textarea')
  const type = async (text: string) => {
    c.field.value = text
    c.field.setSelectionRange(text.length, text.length)
    c.field.dispatchEvent(new InputEvent('input', { data: text.at(-1)!, bubbles: true }))
    await nextTick()
  }
  const labels = () => c.w.findAll('[role=option] .label').map((o) => o.text())
  const shows = (...want: string[]) => vi.waitFor(() => expect(labels()).toEqual(want), 10_000)

  await type('Look at @')
  // What is typed while the list loads is not lost.
  await type('Look at @lim')
  await shows('src/limiter.go', 'src/my limiter.go')
  expect(asked.filter((p) => p.includes('/files/'))).toEqual([
    `/api/sessions/${orphaned().session_id}/files/search?q=lim`,
  ])
  expect(field.attributes('aria-activedescendant')).toBe(c.w.find('[aria-selected=true]').attributes('id'))
  await field.trigger('keydown', { key: 'ArrowDown' })
  await field.trigger('keyup', { key: 'ArrowDown' })
  await field.trigger('keydown', { key: 'Enter' })
  expect(c.field.value).toBe('Look at @"src/my limiter.go" ')
  await shows()
  expect(field.attributes('aria-activedescendant')).toBeUndefined()

  await type('/c')
  await shows('/compact', '/clear')
  await type('/cl')
  await shows('/clear')
  await field.trigger('keydown', { key: 'Escape' })
  await shows()
  await type('/cle')
  await shows()
  await type('')
  await type('/com')
  await shows('/compact')
  await field.trigger('keydown', { key: 'Tab' })
  expect(c.field.value).toBe('/compact ')
  // What is written in full is sent.
  await type('/compact')
  await shows('/compact')
  expect(said).toEqual([])
  await field.trigger('keydown', { key: 'Enter' })
  expect(said).toEqual(['/compact'])

  await type('@gone')
  await vi.waitFor(() => expect(c.w.find('.note').text()).toMatch(/^Files can’t be listed/), 10_000)
  c.w.unmount()
  vi.unstubAllGlobals()
})

import { flushPromises, mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, expect, test, vi } from 'vitest'
import { createMemoryHistory, createRouter } from 'vue-router'
import { process, request } from '@/pending/testdock'
import { useSessions } from '@/state/sessions'
import { openDialogs } from '@/ui/dialogs'
import type { ProcessState, Role } from '@/wire/messages.gen'
import Palette from './Palette.vue'

beforeEach(() => localStorage.clear())

async function open(processes: ProcessState[] = [], session?: string, role: Role = 'member') {
  const pinia = createPinia()
  setActivePinia(pinia)
  useSessions().apply(
    [
      {
        type: 'hello',
        protocol: 1,
        server_version: '0',
        node_id: 'n',
        user: { name: 'ada', role },
        server_time: Date.now() / 1000,
      },
      { type: 'active_processes', processes },
    ],
    { now: Date.now(), commandOf: () => undefined },
  )
  const router = createRouter({
    history: createMemoryHistory(),
    routes: [{ path: '/:any(.*)*', component: { template: '<p></p>' } }],
  })
  const leave = vi.fn<() => void>()
  const palette = mount(Palette, {
    props: { session, leave },
    global: { plugins: [pinia, router] },
    attachTo: document.body,
  })
  await flushPromises()
  const field = palette.get('input')
  const options = () => palette.findAll('[role=option]')
  return {
    palette,
    leave,
    router,
    field,
    options,
    texts: () => options().map((o) => o.text()),
    /** The one option that is selected, which is also what the field points to. */
    current: () => {
      const selected = options().filter((o) => o.attributes('aria-selected') === 'true')
      expect(selected.map((o) => o.attributes('id'))).toEqual([field.attributes('aria-activedescendant')])
      return selected[0]!.text()
    },
    press: async (key: string, more: KeyboardEventInit = {}) => {
      const ev = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more })
      field.element.dispatchEvent(ev)
      await flushPromises()
      return ev
    },
    type: async (text: string) => {
      await field.setValue(text)
      await flushPromises()
    },
  }
}

test('the field has the focus and points to the first entry', async () => {
  const { palette, field, current, texts } = await open()
  expect(document.activeElement).toBe(field.element)
  expect(field.attributes()).toMatchObject({
    role: 'combobox',
    'aria-expanded': 'true',
    'aria-autocomplete': 'list',
    'aria-controls': palette.get('[role=listbox]').attributes('id'),
  })
  expect(palette.get('[role=listbox]').attributes('aria-label')).toBe(field.attributes('aria-label'))
  expect(current()).toBe(texts()[0])
})

test('arrow keys wrap around, and Page Up and Page Down move by eight', async () => {
  const { press, current, texts } = await open()
  const all = texts()
  const n = all.length
  await press('ArrowUp')
  expect(current()).toBe(all[n - 1])
  const down = await press('ArrowDown')
  expect(down.defaultPrevented).toBe(true)
  expect(current()).toBe(all[0])
  await press('PageDown')
  expect(current()).toBe(all[8 % n])
  await press('PageUp')
  await press('PageUp')
  expect(current()).toBe(all[(((0 - 8) % n) + n) % n])
})

test('Home and End move the caret', async () => {
  const { press, current, texts } = await open()
  await press('ArrowDown')
  for (const key of ['Home', 'End']) expect((await press(key)).defaultPrevented).toBe(false)
  expect(current()).toBe(texts()[1])
})

test('typing filters and selects the first entry again', async () => {
  const { palette, press, type, current, options, texts, field } = await open()
  await press('ArrowDown')
  await type('theme')
  expect(texts()).toEqual(['Theme: System', 'Theme: Light', 'Theme: Dark'])
  expect(current()).toBe('Theme: System')
  expect(palette.get('[role=status]').text()).toContain('3')
  await type('no such entry')
  expect(options()).toEqual([])
  expect(field.attributes('aria-activedescendant')).toBe(undefined)
  expect(palette.get('[role=status]').text()).toBe('No results')
  await press('ArrowDown')
  await press('Enter')
  expect(palette.emitted('close')).toBe(undefined)
  await type('theme')
  expect(current()).toBe('Theme: System')
})

test('Enter runs the selected entry once the palette is closed; a repeated or composing Enter does not', async () => {
  const { palette, press, type, leave } = await open()
  await type('sign out')
  await press('Enter', { repeat: true })
  await press('Enter', { isComposing: true })
  expect(palette.emitted('close')).toBe(undefined)
  expect((await press('Enter')).defaultPrevented).toBe(true)
  expect(palette.emitted('close')).toHaveLength(1)
  expect(leave).toHaveBeenCalledOnce()
})

test('the pointer selects, a click runs, and the entry stays selected when the pointer leaves', async () => {
  const { palette, press, options, current, texts, router, field } = await open()
  const settings = texts().indexOf('Settings')
  await options()[settings]!.trigger('pointermove')
  expect(current()).toBe('Settings')
  await palette.get('[role=listbox]').trigger('pointerleave')
  await palette.get('[role=listbox]').element.parentElement!.dispatchEvent(new Event('pointerleave'))
  await flushPromises()
  expect(current()).toBe('Settings')
  expect(document.activeElement).toBe(field.element)
  await press('ArrowDown')
  expect(current()).toBe(texts()[settings + 1])
  await options()[settings]!.trigger('click')
  await flushPromises()
  expect(palette.emitted('close')).toHaveLength(1)
  expect(router.currentRoute.value.path).toBe('/settings')
})

test('a click leaves the focus in the field', async () => {
  const { options } = await open()
  const ev = new MouseEvent('mousedown', { bubbles: true, cancelable: true })
  options()[1]!.element.dispatchEvent(ev)
  expect(ev.defaultPrevented).toBe(true)
})

const waits = () => process([request('r1')], { session_id: 'a', title: 'Fix the limiter' })
const other = () => process([], { session_id: 'b', title: 'Limiter for uploads', state: 'dead' })
const beside = (palette: Awaited<ReturnType<typeof open>>['palette']) => palette.findAll('.beside [role=option]')

test('an action is found for the open session first, and Kill asks for confirmation', async () => {
  const { palette, press, type, texts, current } = await open(
    [process([], { session_id: 'c', title: 'Another' }), waits()],
    'a',
  )
  await type('kill')
  expect(texts().slice(0, 2)).toEqual(['Kill…Fix the limiter⇥', 'Kill…Another'])
  expect(current()).toBe('Kill…Fix the limiter⇥')
  const calls = vi.spyOn(globalThis, 'fetch')
  await press('Enter')
  expect(palette.emitted('close')).toHaveLength(1)
  expect(openDialogs.value.map((d) => (d.props as { session: ProcessState }).session.session_id)).toEqual(['a'])
  expect(calls).not.toHaveBeenCalledWith('/api/sessions/a/kill', expect.anything())
  openDialogs.value = []
})

test('only actions that are possible now are offered', async () => {
  const { palette, press, type } = await open([waits(), other()], undefined)
  await type('limiter')
  await press('ArrowDown')
  const names = () => beside(palette).map((o) => o.text())
  await type('fix the limiter')
  expect(names()).toEqual([
    'Review request',
    'Open changes',
    'Interrupt',
    'Change permission mode…',
    'Change model…',
    'Rename…',
    'Fork',
    'Pin',
    'Archive',
    'Kill…',
  ])
  await type('uploads')
  expect(names()).toEqual(['Open changes', 'Resume', 'Rename…', 'Fork', 'Pin', 'Archive'])
  const viewer = await open([waits()], undefined, 'viewer')
  await viewer.type('fix the limiter')
  expect(beside(viewer.palette).map((o) => o.text())).toEqual(['Review request', 'Open changes', 'Pin'])
})

test('Tab opens the actions of a session, Escape goes back, and approving leads to the card', async () => {
  const { palette, press, type, field, router } = await open([waits()])
  await type('fix the limiter')
  await press('Tab')
  expect(field.attributes('aria-activedescendant')).toBe(beside(palette)[0]!.attributes('id'))
  await press('ArrowUp')
  expect(field.attributes('aria-activedescendant')).toBe(beside(palette).at(-1)!.attributes('id'))
  await palette.get('dialog').trigger('cancel')
  expect([palette.emitted('close'), palette.find('.beside .on').exists()]).toEqual([undefined, false])
  await press('Tab')
  await press('Enter', { repeat: true })
  await press('Enter')
  await flushPromises()
  expect(router.currentRoute.value.path).toBe('/inbox/r1')
})

test('a mode is chosen from its own list', async () => {
  const { palette, press, type, texts } = await open([waits()], 'a')
  await type('permission mode')
  await press('Enter')
  expect(palette.emitted('close')).toBe(undefined)
  expect(texts()).toHaveLength(3)
  const calls = vi.spyOn(globalThis, 'fetch').mockResolvedValue(new Response('{}'))
  await type('plan')
  await press('Enter')
  await flushPromises()
  expect(calls.mock.calls.map(([path, init]) => [path, init!.body])).toEqual([
    ['/api/sessions/a/permission_mode', '{"permission_mode":"plan"}'],
  ])
})

test('with > only commands are listed', async () => {
  const { palette, type } = await open([waits()], 'a')
  const texts = () => palette.findAll('.pane [role=option]').map((o) => o.text())
  await type('fix')
  expect(texts()).toEqual(['Needs youFix the limiterw · Needs you⇥'])
  await type('> fix')
  expect(texts()).toEqual([])
  await type('> pin fix')
  expect(texts()).toEqual(['PinFix the limiter⇥'])
})

test('results from the server come below: sessions, transcripts and files', async () => {
  vi.useFakeTimers()
  const answers: Record<string, unknown> = {
    '/api/sessions?': { sessions: [{ session_id: 'old', title: 'Old limiter', cwd: '/w' }], next: null },
    '/api/search?': {
      results: [
        { session_id: 'a', title: 'Fix the limiter', hits: [{ key: 'k1', kind: 'text', excerpt: 'it counts' }] },
      ],
      next: null,
    },
    '/api/sessions/a/files/search': { paths: ['signin/limiter.go'] },
  }
  vi.spyOn(globalThis, 'fetch').mockImplementation((path) => {
    const found = Object.entries(answers).findLast(([begin]) => String(path).startsWith(begin))
    return Promise.resolve(new Response(JSON.stringify(found?.[1] ?? {})))
  })
  const { type, texts, options, router } = await open([waits()], 'a')
  await type('limiter')
  await vi.advanceTimersByTimeAsync(250)
  await flushPromises()
  expect(texts()).toEqual(
    expect.arrayContaining(['Old limiterw', '“it counts”Fix the limiter', 'signin/limiter.goFix the limiter']),
  )
  await options()[texts().indexOf('“it counts”Fix the limiter')]!.trigger('click')
  await vi.runAllTimersAsync()
  expect(router.currentRoute.value.fullPath).toBe('/sessions/a?block=k1')
  vi.useRealTimers()
})

import { flushPromises, mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, expect, test, vi } from 'vitest'
import { createMemoryHistory, createRouter } from 'vue-router'
import Palette from './Palette.vue'

beforeEach(() => localStorage.clear())

async function open() {
  const pinia = createPinia()
  setActivePinia(pinia)
  const router = createRouter({
    history: createMemoryHistory(),
    routes: [{ path: '/:any(.*)*', component: { template: '<p></p>' } }],
  })
  const leave = vi.fn<() => void>()
  const palette = mount(Palette, {
    props: { session: undefined, leave },
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

test('arrows go round, and Page Up and Page Down go by eight', async () => {
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

test('Home and End belong to the text', async () => {
  const { press, current, texts } = await open()
  await press('ArrowDown')
  for (const key of ['Home', 'End']) expect((await press(key)).defaultPrevented).toBe(false)
  expect(current()).toBe(texts()[1])
})

test('typing filters and starts again at the first', async () => {
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

test('Enter runs the current entry once the palette is closed; a repeated or composing Enter does not', async () => {
  const { palette, press, type, leave } = await open()
  await type('sign out')
  await press('Enter', { repeat: true })
  await press('Enter', { isComposing: true })
  expect(palette.emitted('close')).toBe(undefined)
  expect((await press('Enter')).defaultPrevented).toBe(true)
  expect(palette.emitted('close')).toHaveLength(1)
  expect(leave).toHaveBeenCalledOnce()
})

test('the pointer selects, a click runs, and the entry stays selected when the pointer goes', async () => {
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

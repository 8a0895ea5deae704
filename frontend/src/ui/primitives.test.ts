import { mount } from '@vue/test-utils'
import { expect, test } from 'vitest'
import { h } from 'vue'
import Field from './Field.vue'
import Notice from './Notice.vue'
import Row from './Row.vue'
import Stack from './Stack.vue'
import Tag from './Tag.vue'

test('a stack and a row have the given element and gap', () => {
  for (const layout of [Stack, Row]) {
    const w = mount(layout, { props: { as: 'ul', gap: 4 }, slots: { default: '<li>one</li>' } })
    expect([w.element.tagName, w.classes('gap-4')]).toEqual(['UL', true])
    expect(mount(layout).classes()).toContain('gap-2')
    expect(w.attributes('style')).toBeUndefined()
  }
})

test.each([
  ['error', 'alert'],
  ['success', 'status'],
  ['neutral', undefined],
] as const)('a notice of tone %s has the role %s', (tone, role) => {
  expect(mount(Notice, { props: { tone } }).attributes('role')).toBe(role)
})

test('a tag is neutral by default', () => {
  expect(mount(Tag).classes()).toContain('neutral')
  expect(mount(Tag, { props: { tone: 'danger' } }).classes()).toContain('danger')
})

test('a field connects its control with its label and its hint, or with the error instead', async () => {
  const field = mount(Field, {
    props: { label: 'Name', hint: 'As others see it' },
    slots: { default: (control: object) => h('input', control) },
  })
  const input = field.find('input')
  expect(field.find('label').attributes('for')).toBe(input.attributes('id'))
  const noteOf = () => field.find(`#${input.attributes('aria-describedby')}`).text()
  expect(noteOf()).toBe('As others see it')
  expect(input.attributes('aria-invalid')).toBeUndefined()
  await field.setProps({ error: 'Too long' })
  expect(noteOf()).toBe('Too long')
  expect(input.attributes('aria-invalid')).toBe('true')
  await field.setProps({ label: 'Name', hint: '', error: '' })
  expect(input.attributes('aria-describedby')).toBeUndefined()
})

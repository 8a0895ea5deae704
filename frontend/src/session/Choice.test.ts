import { mount } from '@vue/test-utils'
import { expect, test } from 'vitest'
import Choice from './Choice.vue'

const options = [
  { value: 'default', label: 'Ask before changes', description: 'Claude asks.' },
  { value: 'acceptEdits', label: 'Accept edits' },
  { value: 'plan', label: 'Plan first' },
]
function choice(more: object = {}) {
  const it = mount(Choice, {
    props: { label: 'Permission mode', value: 'acceptEdits', options, busy: false, icon: 'safe' as const, ...more },
    attachTo: document.body,
  })
  const press = (key: string) => it.find('button').trigger('keydown', { key })
  const active = () => {
    const id = it.find('button').attributes('aria-activedescendant')
    return id && document.getElementById(id)!.querySelector('.text > span')!.textContent
  }
  return { it, press, active }
}

test('works with the keys of a select, and describes each choice', async () => {
  const { it, press, active } = choice()
  expect(it.find('button').text()).toBe('Accept edits')
  await press('ArrowDown')
  expect(it.find('button').attributes('aria-expanded')).toBe('true')
  expect(it.find('[aria-selected=true]').text()).toBe('Accept edits')
  expect(it.findAll('small').map((s) => s.text())).toEqual(['Claude asks.'])
  expect(active()).toBe('Accept edits')
  await press('ArrowDown')
  await press('ArrowDown')
  expect(active()).toBe('Plan first')
  await press('Home')
  expect(active()).toBe('Ask before changes')
  await press('p')
  expect(active()).toBe('Plan first')
  await press('Enter')
  expect(it.emitted('choose')).toEqual([['plan']])
  // It shows what the server made of it.
  expect(it.find('button').text()).toBe('Accept edits')
  expect(it.find('[role=option]').exists()).toBe(false)
  it.unmount()
})

test('chooses nothing when it is closed, busy, or the same value is chosen', async () => {
  const { it, press } = choice()
  await press('Enter')
  await press('Enter')
  await press(' ')
  await press('Escape')
  await press('ArrowUp')
  await it.find('button').trigger('blur')
  expect(it.find('[role=option]').exists()).toBe(false)
  await it.setProps({ busy: true })
  await press('Enter')
  await press('End')
  await press('Enter')
  expect(it.emitted('choose')).toBeUndefined()
  it.unmount()
})

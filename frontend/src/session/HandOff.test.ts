import { mount } from '@vue/test-utils'
import { encode } from 'uqr'
import { expect, test } from 'vitest'
import HandOff from './HandOff.vue'

test('a phone is shown the address of exactly this card, and nothing that signs in', () => {
  const dialog = mount(HandOff, { props: { path: '/inbox/r1' }, attachTo: document.body })
  const address = `${location.origin}/inbox/r1`
  expect(dialog.find('.address').text()).toBe(address)
  // Drawn is what the library says, module by module, with its quiet zone.
  const { size, data } = encode(address, { ecc: 'M', border: 4 })
  expect(dialog.find('svg.code').attributes('viewBox')).toBe(`0 0 ${size} ${size}`)
  expect(dialog.find('svg.code path').attributes('d')!.match(/M/g)).toHaveLength(data.flat().filter(Boolean).length)
  expect(data.slice(0, 4).flat().some(Boolean)).toBe(false)
})

test('an address of this machine says that a phone cannot use it', () => {
  const dialog = mount(HandOff, { props: { path: '/inbox/r1' }, attachTo: document.body })
  expect(location.hostname).toBe('localhost')
  expect(dialog.find('.here').text()).toContain('only on this machine')
})

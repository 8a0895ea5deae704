import { flushPromises, mount } from '@vue/test-utils'
import { encode } from 'uqr'
import { beforeEach, expect, test, vi } from 'vitest'
import type { PhoneAddress } from '@/wire/messages.gen'
import HandOff from './HandOff.vue'

let addresses: PhoneAddress[]
beforeEach(() => {
  addresses = []
  vi.stubGlobal(
    'fetch',
    vi.fn(async () => new Response(JSON.stringify({ addresses, through: 'direct' }), { status: 200 })),
  )
})
const dialog = () =>
  mount(HandOff, { props: { path: '/inbox/r1' }, attachTo: document.body, global: { stubs: { RouterLink: true } } })

test('the phone gets the link to exactly this card, and nothing that signs in', () => {
  const shown = dialog()
  const address = `${location.origin}/inbox/r1`
  expect(shown.find('.address').text()).toBe(address)
  // Drawn is what the library says, module by module, with its quiet zone.
  const { size, data } = encode(address, { ecc: 'M', border: 4 })
  expect(shown.find('svg.code').attributes('viewBox')).toBe(`0 0 ${size} ${size}`)
  expect(shown.find('svg.code path').attributes('d')!.match(/M/g)).toHaveLength(data.flat().filter(Boolean).length)
  expect(data.slice(0, 4).flat().some(Boolean)).toBe(false)
})

test('a loopback address says that a phone cannot use it', async () => {
  const shown = dialog()
  await flushPromises()
  expect(location.hostname).toBe('localhost')
  expect(shown.find('.here').text()).toContain('only on this machine')
})

test('on the server, the code contains the address that a phone can reach', async () => {
  addresses = [
    { url: 'https://192.168.1.7:8787', network: 'lan', missing: 'tls', fix: [] },
    { url: 'https://sayso.example.org', network: 'public', missing: 'nothing', fix: [] },
  ]
  const shown = dialog()
  await flushPromises()
  expect(shown.find('.address').text()).toBe('https://sayso.example.org/inbox/r1')
  expect(shown.find('.here').exists()).toBe(false)
})

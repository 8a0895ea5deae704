import { flushPromises, mount } from '@vue/test-utils'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createMemoryHistory, createRouter } from 'vue-router'
import { tokenIn } from './account'
import SignIn from './SignIn.vue'

const calls: { path: string; body: unknown }[] = []
function server(status: number, body: object) {
  vi.stubGlobal(
    'fetch',
    vi.fn(async (path: string, init: RequestInit) => {
      calls.push({ path, body: JSON.parse(String(init.body)) })
      return new Response(JSON.stringify(body), { status })
    }),
  )
}

async function page(hash: string, query = '') {
  history.replaceState(null, '', `/sign-in${query}${hash}`)
  const router = createRouter({
    history: createMemoryHistory(),
    routes: [
      { path: '/sign-in', component: SignIn },
      { path: '/:rest(.*)*', component: { template: '<p>in</p>' } },
    ],
  })
  await router.push(`/sign-in${query}`)
  const wrapper = mount({ template: '<router-view />' }, { attachTo: document.body, global: { plugins: [router] } })
  await flushPromises()
  return { wrapper, router }
}

beforeEach(() => void (calls.length = 0))
afterEach(() => void vi.unstubAllGlobals())

describe('the one-time link', () => {
  test('signs in and removes the secret from the address', async () => {
    server(200, { user: { name: 'ada', role: 'admin' } })
    const { router } = await page('#secret', '?next=/sessions/1')
    expect(calls).toEqual([{ path: '/api/login', body: { token: 'secret' } }])
    expect(location.href).not.toContain('secret')
    expect(router.currentRoute.value.path).toBe('/sessions/1')
  })

  test('signs in when it is opened over the page', async () => {
    server(200, { user: { name: 'ada', role: 'admin' } })
    const { router } = await page('')
    expect(calls).toEqual([])
    history.replaceState(null, '', '/sign-in#secret')
    window.dispatchEvent(new HashChangeEvent('hashchange'))
    await flushPromises()
    expect(calls).toEqual([{ path: '/api/login', body: { token: 'secret' } }])
    expect(location.href).not.toContain('secret')
    expect(router.currentRoute.value.path).toBe('/')
  })

  test('says how to get another link when it was already used', async () => {
    server(401, { error: { code: 'refused', message: 'no' } })
    const { wrapper, router } = await page('#spent')
    expect(wrapper.find('[role=alert]').text()).toContain('has expired or was already used')
    expect(wrapper.text()).toContain('sayso token --sign-in')
    expect(router.currentRoute.value.path).toBe('/sign-in')
    expect(location.hash).toBe('')
  })

  test.each(['https://evil.example', '//evil.example', '/\\evil.example'])('does not redirect to %s', async (next) => {
    server(200, { user: { name: 'ada', role: 'admin' } })
    const { router } = await page('#secret', `?next=${encodeURIComponent(next)}`)
    expect(router.currentRoute.value.path).toBe('/')
  })
})

test('signs in with a pasted link or token', async () => {
  server(200, { user: { name: 'ada', role: 'admin' } })
  const { wrapper } = await page('')
  expect(calls).toEqual([])
  await wrapper.find('#token').setValue(' http://127.0.0.1:8787/sign-in#abc ')
  await wrapper.find('.otherwise form').trigger('submit')
  expect(calls[0]?.body).toEqual({ token: 'abc' })
  expect(tokenIn('abc')).toBe('abc')
})

test('signs in with a name and a password', async () => {
  server(200, { user: { name: 'ada', role: 'admin' } })
  const { wrapper, router } = await page('')
  await wrapper.find('#name').setValue(' ada ')
  await wrapper.find('#password').setValue('four words of mine')
  await wrapper.find('form').trigger('submit')
  await flushPromises()
  expect(calls).toEqual([{ path: '/api/login', body: { username: 'ada', password: 'four words of mine' } }])
  expect(router.currentRoute.value.path).toBe('/')
})

test('shows the server’s reason when a password is rejected', async () => {
  server(401, { error: { code: 'not_signed_in', message: 'This name and password do not go together.' } })
  const { wrapper } = await page('')
  await wrapper.find('#name').setValue('ada')
  await wrapper.find('#password').setValue('guess')
  await wrapper.find('form').trigger('submit')
  await flushPromises()
  expect(wrapper.find('[role=alert]').text()).toBe('This name and password do not go together.')
})

test('redirects to the page for the first admin when the server is not set up', async () => {
  server(200, { user: { name: 'admin', role: 'admin' }, set_up: true })
  const { router } = await page('#secret', '?next=/sessions/1')
  expect(router.currentRoute.value.path).toBe('/set-up')
})

test('redirects an invited person without a sign-in method to the page that adds one', async () => {
  server(200, { user: { name: 'bob', role: 'viewer' }, set_up: false, needs_way: true })
  const { router } = await page('#secret')
  expect(router.currentRoute.value.path).toBe('/set-up')
})

test('says that the server cannot be reached', async () => {
  vi.stubGlobal(
    'fetch',
    vi.fn(async () => {
      throw new TypeError('failed')
    }),
  )
  const { wrapper } = await page('#secret')
  expect(wrapper.find('[role=alert]').text()).toContain('could not be reached')
})

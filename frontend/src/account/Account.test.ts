import { flushPromises, mount } from '@vue/test-utils'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createMemoryHistory, createRouter } from 'vue-router'
import Account from './Account.vue'
import SetUp from './SetUp.vue'

const calls: string[] = []
const answers: Record<string, unknown> = {}

beforeEach(() => {
  calls.length = 0
  for (const key of Object.keys(answers)) delete answers[key]
  Object.assign(answers, {
    'GET /api/me': { user: { name: 'ada', role: 'admin' }, user_id: 'u1', has_password: true, set_up: false },
    'GET /api/sign_ins': {
      sign_ins: [
        {
          sign_in_id: 's1',
          device: 'Firefox on Linux',
          address: '192.0.2.1',
          created_at: 1,
          last_used_at: 3,
          expires_at: 2,
          current: true,
          method: 'passkey',
        },
        {
          sign_in_id: 's2',
          device: 'Chrome on Android',
          address: '',
          created_at: 1,
          last_used_at: null,
          expires_at: 2,
          current: false,
        },
      ],
    },
    'GET /api/passkeys': {
      passkeys: [{ passkey_id: 'p1', name: 'laptop', domain: 'localhost', created_at: 1, last_used_at: null }],
      problem: 'Open sayso at http://localhost:8787.',
    },
  })
  vi.stubGlobal(
    'fetch',
    vi.fn(async (path: string, init: RequestInit) => {
      const key = `${init.method} ${path}`
      calls.push(key + (typeof init.body === 'string' ? ` ${init.body}` : ''))
      const answer = answers[key]
      if (answer === undefined) return new Response(null, { status: 204 })
      return new Response(JSON.stringify(answer), { status: (answer as { error?: unknown }).error ? 400 : 200 })
    }),
  )
})
afterEach(() => void vi.unstubAllGlobals())

async function open() {
  const router = createRouter({ history: createMemoryHistory(), routes: [{ path: '/:rest(.*)*', component: Account }] })
  const wrapper = mount(Account, { attachTo: document.body, global: { plugins: [router] } })
  await flushPromises()
  calls.length = 0
  const press = async (text: string) => {
    const button = wrapper.findAll('button').find((b) => b.text() === text || b.attributes('aria-label') === text)
    if (!button) throw new Error(`no button ${text}`)
    await button.trigger('click')
    await flushPromises()
  }
  const section = (title: string) => wrapper.findAll('section').find((s) => s.find('h2').text() === title)!
  return { wrapper, press, section }
}

test('lists the active sign-ins and ends the others', async () => {
  const { wrapper, press, section } = await open()
  expect(wrapper.text()).toContain('Firefox on Linux')
  expect(wrapper.text()).toContain('this browser')
  expect(wrapper.text()).toMatch(/from 192\.0\.2\.1, by passkey, last used /)
  const devices = section('Signed-in devices').findAll('button')
  expect(devices.filter((b) => b.text() === 'Sign out')).toHaveLength(1)
  await press('Sign out Chrome on Android')
  expect(calls[0]).toBe('DELETE /api/sign_ins/s2')
})

test('requires the current password to change the password', async () => {
  const { wrapper } = await open()
  const [present, next] = wrapper.findAll('input[type=password]')
  await present?.setValue('four words of mine')
  await next?.setValue('five more words of mine')
  await wrapper.find('form').trigger('submit')
  await flushPromises()
  expect(calls[0]).toBe(
    'POST /api/me/password {"current_password":"four words of mine","password":"five more words of mine"}',
  )
  expect(wrapper.find('[role=status]').text()).toContain('Password changed.')
})

test('lists and removes passkeys, and says why none can be created', async () => {
  const { wrapper, press, section: named } = await open()
  const section = named('Passkeys')
  expect(section.text()).toContain('for localhost')
  expect(section.text()).toContain('not used yet')
  await press('Remove passkey laptop')
  expect(calls[0]).toBe('DELETE /api/passkeys/p1')
  expect(wrapper.find('[role=status]').text()).toContain('laptop removed')
  expect(section.find('form').exists()).toBe(false)
  expect(section.text()).toContain('Open sayso at http://localhost:8787.')
})

test('shows the server’s error and reloads the list', async () => {
  answers['DELETE /api/sign_ins/s2'] = { error: { code: 'invalid', message: 'Already signed out.' } }
  const { wrapper, press } = await open()
  await press('Sign out Chrome on Android')
  expect(wrapper.find('[role=alert]').text()).toBe('Already signed out.')
  expect(calls).toEqual(['DELETE /api/sign_ins/s2', 'GET /api/me', 'GET /api/sign_ins'])
})

test('links to the admin pages for people and tokens', async () => {
  const { wrapper } = await open()
  expect(wrapper.find('a[href="/admin/tokens"]').text()).toBe('Manage API tokens')
  expect(wrapper.text()).not.toContain('People')
})

async function setUp(me: object, problem: string | null = null) {
  answers['GET /api/me'] = {
    user: { name: 'admin', role: 'admin' },
    user_id: 'u1',
    has_password: false,
    set_up: false,
    ...me,
  }
  answers['GET /api/login'] = { passkey: { available: problem === null, problem } }
  const router = createRouter({
    history: createMemoryHistory(),
    routes: [
      { path: '/set-up', component: SetUp },
      { path: '/', component: { template: '<p>in</p>' } },
      { path: '/welcome', component: { template: '<p>what Claude needs</p>' } },
    ],
  })
  await router.push('/set-up')
  const wrapper = mount({ template: '<router-view />' }, { attachTo: document.body, global: { plugins: [router] } })
  await flushPromises()
  calls.length = 0
  return { wrapper, router }
}

test('the first admin chooses a name and a password', async () => {
  answers['POST /api/set_up'] = answers['GET /api/me']
  const { wrapper, router } = await setUp({ set_up: true })
  await wrapper.find('#name').setValue(' ada ')
  await wrapper.find('#password').setValue('four words of mine')
  await wrapper.find('form').trigger('submit')
  await flushPromises()
  expect(calls).toEqual(['POST /api/set_up {"name":"ada","password":"four words of mine"}'])
  expect(router.currentRoute.value.path).toBe('/welcome')
})

test('says why passkeys are not offered', async () => {
  const { wrapper } = await setUp({ set_up: true }) // no browser of a test has them
  expect(wrapper.text()).toContain('This browser doesn’t support passkeys.')
  wrapper.unmount()
  const there = await setUp({ set_up: true }, 'Open sayso at http://localhost:8787.')
  expect(there.wrapper.text()).toContain('Open sayso at http://localhost:8787.')
  expect(there.wrapper.findAll('button').map((b) => b.text())).toEqual(['Get started'])
})

test('an invited person has a name and chooses a way to sign in', async () => {
  const { wrapper, router } = await setUp({ user: { name: 'bob', role: 'viewer' }, needs_way: true })
  expect(wrapper.find('h1').text()).toBe('Hello, bob')
  expect(wrapper.find('#name').exists()).toBe(false)
  await wrapper.find('#password').setValue('four words of mine')
  await wrapper.find('form').trigger('submit')
  await flushPromises()
  expect(calls).toEqual(['POST /api/me/password {"password":"four words of mine"}'])
  expect(router.currentRoute.value.path).toBe('/')
})

test('a person who can already sign in is not asked again', async () => {
  const { router } = await setUp({ has_password: true })
  expect(router.currentRoute.value.path).toBe('/')
})

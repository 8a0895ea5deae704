import { enableAutoUnmount, flushPromises, mount } from '@vue/test-utils'
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
    'GET /api/tokens': {
      tokens: [
        {
          token_id: 't1',
          name: 'ci',
          user: 'ci',
          role: 'member',
          created_at: 1,
          expires_at: null,
          last_used_at: null,
          revoked: false,
        },
        {
          token_id: 't2',
          name: 'gone',
          user: 'ada',
          role: 'admin',
          created_at: 1,
          expires_at: null,
          last_used_at: null,
          revoked: true,
        },
      ],
    },
    'GET /api/users': {
      users: [
        { user_id: 'u1', name: 'ada', role: 'admin', disabled: false, has_password: true, created_at: 1 },
        { user_id: 'u2', name: 'bob', role: 'member', disabled: false, has_password: false, created_at: 1 },
      ],
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
enableAutoUnmount(afterEach)
afterEach(() => void vi.unstubAllGlobals())

async function open(role: 'admin' | 'member') {
  const wrapper = mount(Account, { props: { role }, attachTo: document.body })
  await flushPromises()
  calls.length = 0
  const press = async (text: string) => {
    const button = wrapper.findAll('button').find((b) => b.text() === text || b.attributes('aria-label') === text)
    if (!button) throw new Error(`no button ${text}`)
    await button.trigger('click')
    await flushPromises()
  }
  return { wrapper, press }
}

test('lists where one is signed in and ends the others', async () => {
  const { wrapper, press } = await open('admin')
  expect(wrapper.text()).toContain('Firefox on Linux')
  expect(wrapper.text()).toContain('this browser')
  expect(wrapper.text()).toMatch(/from 192\.0\.2\.1, by passkey, last used /)
  expect(wrapper.findAll('button').filter((b) => b.text() === 'Sign out')).toHaveLength(1)
  await press('Sign out Chrome on Android')
  expect(calls[0]).toBe('DELETE /api/sign_ins/s2')
})

test('a password change needs the present one', async () => {
  const { wrapper } = await open('member')
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

test('it opens at the present password', async () => {
  const { wrapper } = await open('member')
  expect(document.activeElement).toBe(wrapper.find('input[autocomplete=current-password]').element)
})

test('passkeys are listed and removed, and it says why none can be made', async () => {
  const { wrapper, press } = await open('member')
  const section = wrapper.find('section[aria-labelledby=account-passkeys]')
  expect(section.text()).toContain('for localhost')
  expect(section.text()).toContain('not used yet')
  await press('Remove passkey laptop')
  expect(calls[0]).toBe('DELETE /api/passkeys/p1')
  expect(wrapper.find('[role=status]').text()).toContain('laptop removed')
  expect(section.find('form').exists()).toBe(false)
  expect(section.text()).toContain('Open sayso at http://localhost:8787.')
})

test('a token is shown once, with its scope and end', async () => {
  answers['POST /api/tokens'] = {
    token_id: 't3',
    name: 'x',
    user: 'ada',
    role: 'viewer',
    token: 'secret-of-it',
    revoked: false,
  }
  const { wrapper } = await open('member')
  expect(wrapper.text()).not.toContain('gone')
  const form = wrapper.find('section[aria-labelledby=account-tokens] form')
  expect(
    form
      .findAll('option')
      .map((o) => o.element.value)
      .slice(0, 2),
  ).toEqual(['viewer', 'member'])
  await form.find('input').setValue('x')
  await form.findAll('select')[0]?.setValue('viewer')
  await form.findAll('select')[1]?.setValue(7)
  await form.trigger('submit')
  await flushPromises()
  expect(calls[0]).toBe('POST /api/tokens {"name":"x","scope":"viewer","expires_in":604800}')
  expect(wrapper.find('.secret').text()).toContain('secret-of-it')
})

test('only an admin sees people, and changes them', async () => {
  const member = await open('member')
  expect(member.wrapper.text()).not.toContain('People')
  expect(calls).not.toContain('GET /api/users')
  const { wrapper, press } = await open('admin')
  expect(wrapper.findAll('button').filter((b) => b.text() === 'Disable')).toHaveLength(1)
  await press('Disable')
  expect(calls[0]).toBe('PATCH /api/users/u2 {"disabled":true}')
  answers['POST /api/users/u2/sign_in_link'] = { token: 'once', expires_at: 1 }
  await press('Create sign-in link for bob')
  expect(wrapper.find('.secret').text()).toContain('/sign-in#once')
  calls.length = 0
  await wrapper.find('[aria-label="Role of bob"]').setValue('viewer')
  await flushPromises()
  expect(calls[0]).toBe('PATCH /api/users/u2 {"role":"viewer"}')
})

test('what the server refuses is said', async () => {
  answers['PATCH /api/users/u2'] = { error: { code: 'invalid', message: 'This is the last admin.' } }
  const { wrapper, press } = await open('admin')
  await press('Disable')
  expect(wrapper.find('[role=alert]').text()).toBe('This is the last admin.')
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
  expect(router.currentRoute.value.path).toBe('/')
})

test('why there is no passkey to choose is said', async () => {
  const { wrapper } = await setUp({ set_up: true }) // no browser of a test has them
  expect(wrapper.text()).toContain('This browser doesn’t support passkeys.')
  wrapper.unmount()
  const there = await setUp({ set_up: true }, 'Open sayso at http://localhost:8787.')
  expect(there.wrapper.text()).toContain('Open sayso at http://localhost:8787.')
  expect(there.wrapper.findAll('button').map((b) => b.text())).toEqual(['Get started'])
})

test('who was invited has a name, and chooses how to come again', async () => {
  const { wrapper, router } = await setUp({ user: { name: 'bob', role: 'viewer' }, needs_way: true })
  expect(wrapper.find('h1').text()).toBe('Hello, bob')
  expect(wrapper.find('#name').exists()).toBe(false)
  await wrapper.find('#password').setValue('four words of mine')
  await wrapper.find('form').trigger('submit')
  await flushPromises()
  expect(calls).toEqual(['POST /api/me/password {"password":"four words of mine"}'])
  expect(router.currentRoute.value.path).toBe('/')
})

test('who has a way already is not asked again', async () => {
  const { router } = await setUp({ has_password: true })
  expect(router.currentRoute.value.path).toBe('/')
})

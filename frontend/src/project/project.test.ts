import { flushPromises, mount } from '@vue/test-utils'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Project, Request } from '@/wire/messages.gen'
import ApprovalRule from './ApprovalRule.vue'
import { projectOf } from './limits'
import LimitsTaken from './LimitsTaken.vue'
import OneProject from '@/admin/OneProject.vue'
import PeopleChoice from './PeopleChoice.vue'
import { may, mayApprove } from './rights'

const calls: string[] = []
const answers: Record<string, unknown> = {}

const project: Project = {
  project_id: 'p1',
  name: 'api',
  folders: ['/src/api'],
  version: 3,
  created_at: 1,
  role: 'admin',
  rights: ['see', 'start', 'answer', 'manage'],
  members: [{ user_id: 'u1', role: 'admin' }],
  names: { u1: 'Ana' },
  people: [{ user_id: 'u2', name: 'Ben', server_role: 'member' }],
  start: { role: 'member', people: [] },
  answer: { role: 'member', people: [] },
  bypass: [],
  rules: [{ tool: 'Bash', pattern: 'git push*', effect: 'two_people', people: [] }],
  limits: { sessions: 4, memory: 0, cost: 10 },
  each_limits: { sessions: 0, memory: 0, cost: 0 },
  use: { sessions: 1, memory: 2 << 20, cost: 2.5 },
}

beforeEach(() => {
  calls.length = 0
  for (const key of Object.keys(answers)) delete answers[key]
  vi.stubGlobal(
    'fetch',
    vi.fn(async (path: string, init: RequestInit) => {
      const key = `${init.method} ${path}`
      calls.push(key + (typeof init.body === 'string' ? ` ${init.body}` : ''))
      const answer = answers[key]
      if (answer === undefined) return new Response(null, { status: 204 })
      return new Response(JSON.stringify(answer), { status: (answer as { error?: unknown }).error ? 409 : 200 })
    }),
  )
})
afterEach(() => void vi.unstubAllGlobals())

async function open(change: Partial<Project> = {}, serverAdmin = true) {
  answers['GET /api/projects/p1'] = { ...project, ...change }
  const wrapper = mount(OneProject, { props: { id: 'p1', serverAdmin }, attachTo: document.body })
  await flushPromises()
  calls.length = 0
  return wrapper
}
const field = (wrapper: Awaited<ReturnType<typeof open>>, label: string) =>
  wrapper
    .findAll('label')
    .find((l) => l.text().startsWith(label))!
    .find('input, select')
const sent = () => calls.find((c) => c.startsWith('PATCH'))

test('limits are shown with their usage, and saved together', async () => {
  const wrapper = await open()
  expect(
    wrapper
      .findAll('section')
      .find((s) => s.find('h3').text() === 'Limits')!
      .text(),
  ).toContain('In use: 1 session, 2.0 MB, $2.50 today.')
  expect((field(wrapper, 'All sessions combined: Cost per day (USD)').element as HTMLInputElement).value).toBe('10')
  await field(wrapper, 'Per person: Cost per day (USD)').setValue('0.5')
  await field(wrapper, 'All sessions combined: Concurrent sessions').setValue('')
  await wrapper.find('button[aria-label="Save: Limits"]').trigger('submit')
  await flushPromises()
  expect(sent()).toBe(
    'PATCH /api/projects/p1 {"version":3,"limits":{"sessions":0,"memory":0,"cost":10},"each_limits":{"sessions":0,"memory":0,"cost":0.5}}',
  )
})

test('people who do not manage the project change nothing in it', async () => {
  const wrapper = await open({ rights: ['see', 'start', 'answer'], role: 'member' }, false)
  expect(wrapper.text()).toContain('Ana')
  expect(wrapper.findAll('button').map((b) => b.text())).toEqual(['All projects'])
  expect(
    wrapper
      .findAll('select, input')
      .every((f) => f.attributes('disabled') !== undefined || f.element.closest('fieldset[disabled]')),
  ).toBe(true)
})

test('a member is added, and a conflicting change by another person is reported', async () => {
  const wrapper = await open()
  await field(wrapper, 'Person').setValue('u2')
  await wrapper.findAll('form')[0]!.trigger('submit')
  await flushPromises()
  expect(sent()).toBe(
    'PATCH /api/projects/p1 {"version":3,"members":[{"user_id":"u1","role":"admin"},{"user_id":"u2","role":"member"}]}',
  )
  answers['PATCH /api/projects/p1'] = {
    error: { code: 'changed', message: 'Somebody else has changed this project meanwhile.' },
  }
  await wrapper.find('button[aria-label="Remove rule 1"]').trigger('click')
  await flushPromises()
  expect(wrapper.find('[role=alert]').text()).toContain('Somebody else has changed this project meanwhile.')
})

test('selected people stay selected', async () => {
  const wrapper = mount(PeopleChoice, {
    props: {
      legend: 'Who',
      people: [
        { user_id: 'a', name: 'Ana' },
        { user_id: 'b', name: 'Ben' },
      ],
      modelValue: ['a', 'gone'],
    },
  })
  await wrapper.findAll('input')[1]!.setValue(true)
  expect(wrapper.emitted('update:modelValue')![0]).toEqual([['a', 'b']])
})

test('a card shows the rules of its project, and an approval can be undone', async () => {
  const wrapper = mount(ApprovalRule, {
    props: {
      project: 'api',
      request: 'r1',
      rule: { effect: 'two_people', may: true, people: ['Ana', 'Ben'], first: { by: 'Ana', at: 1, mine: true } },
    },
  })
  expect(wrapper.text()).toContain('Approved by you. 1 more approval needed.')
  expect(wrapper.text()).toContain('Only Ana and Ben can approve this in api.')
  await wrapper.find('button').trigger('click')
  expect(calls).toEqual(['POST /api/pending/r1/withdraw_approval {}'])
})

test('buttons follow the rights from the server, or the role if there are none', () => {
  expect(may({ rights: ['see', 'answer'] }, 'answer', 'viewer')).toBe(true)
  expect(may({ rights: ['see'] }, 'answer', 'admin')).toBe(false)
  expect(may({}, 'run', 'member')).toBe(true)
  expect(may({ rights: null }, 'run', 'viewer')).toBe(false)
  const request = (approval?: object) => ({ approval }) as unknown as Request
  expect(mayApprove({ rights: ['answer'] }, request(), 'member')).toBe(true)
  expect(mayApprove({ rights: ['answer'] }, request({ may: false }), 'member')).toBe(false)
  expect(mayApprove({ rights: ['answer'] }, request({ may: true, first: { mine: true } }), 'member')).toBe(false)
  expect(mayApprove({ rights: ['see'] }, request(), 'member')).toBe(false)
})

test('a folder belongs to the project with the longest path above it', () => {
  const list = [
    { name: 'api', folders: ['/src/api'] },
    { name: 'v2', folders: ['/src/api/v2', '/x'] },
  ]
  for (const [folder, name] of [
    ['/src/api', 'api'],
    ['/src/api/v2/a', 'v2'],
    ['/src/apiary', undefined],
    ['', undefined],
    ['/x/y', 'v2'],
  ] as const)
    expect(projectOf(list, folder)?.name).toBe(name)
})

test('usage is shown for the limits that are set, and for the project of a folder', async () => {
  const none = { limits: { sessions: 0, memory: 0 }, use: { sessions: 1, memory: 1 } }
  answers['GET /api/limits'] = {
    next_day: 1,
    mine: { limits: { sessions: 2, memory: 4 << 20, cost: 5 }, use: { sessions: 1, memory: 1 << 20, cost: 0.25 } },
    projects: [
      {
        project_id: 'p1',
        name: 'api',
        folders: ['/src/api'],
        mine: none,
        all: { limits: { sessions: 1, memory: 0 }, use: { sessions: 1, memory: 7 } },
      },
    ],
  }
  const lines = async (folder?: string) => {
    const wrapper = mount(LimitsTaken, { props: { folder } })
    await flushPromises()
    return wrapper.findAll('li').map((li) => (li.classes('full') ? '! ' : '') + li.text())
  }
  expect(await lines('/src/web')).toEqual([
    'Your sessions: 1 of 2 running · 1.0 MB of 4.0 MB · $0.25 of $5.00 today (UTC)',
  ])
  expect((await lines('/src/api/x'))[1]).toBe('! All sessions of api: 1 of 1 running')
  expect(await lines()).toHaveLength(2)
})

test('the time limit of agent questions is chosen for a project, also one that is not in the list', async () => {
  const wrapper = await open({ ask_timeout: 45 })
  const choice = field(wrapper, 'Deadline for agent questions')
  expect((choice.element as HTMLSelectElement).value).toBe('45')
  await choice.setValue('-1')
  await flushPromises()
  expect(sent()).toBe('PATCH /api/projects/p1 {"version":3,"ask_timeout":-1}')
})

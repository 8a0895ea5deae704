import { flushPromises, mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, expect, test, vi } from 'vitest'
import { portKey } from '@/connection/port'
import type { SessionState } from '@/state/reducer'
import { useSessions } from '@/state/sessions'
import type { ChangedFile, Changes as Found, FileComparison } from '@/wire/messages.gen'
import SessionGit from '@/worktree/SessionGit.vue'
import Changes from './Changes.vue'
import CommitDialog from './CommitDialog.vue'

const ID = 's'
const file = (path: string, more: Partial<ChangedFile> = {}): ChangedFile => ({
  path,
  status: 'modified',
  uncommitted: true,
  readable: true,
  version: 'v1',
  ...more,
})
const found = (base: string, files: ChangedFile[], more: Partial<Found> = {}): Found => ({
  repository: 'found',
  branch: 'fix',
  head: '0123',
  base,
  main_branch: 'main',
  files,
  more: false,
  ...more,
})
const text = (text: string) => ({ state: 'text', text, size: text.length })

let answers: Record<string, Found>
let asked: string[]
beforeEach(() => {
  setActivePinia(createPinia())
  asked = []
  answers = {
    head: found('head', [file('a.ts'), file('b.ts')]),
    turn: found('turn', [file('a.ts', { added: 1, removed: 1 })], { source: 'snapshot' }),
  }
  vi.stubGlobal(
    'fetch',
    vi.fn(async (path: string, init?: RequestInit) => {
      asked.push(path)
      const url = new URL(path, 'http://x')
      const base = url.searchParams.get('base') ?? ''
      const compared: FileComparison = {
        before: text(base === 'turn' ? 'the turn before\n' : 'the commit before\n'),
        after: text('now\n'),
        digest: 'd',
      }
      if (init?.method === 'POST') return new Response(JSON.stringify({ commit: 'c'.repeat(40) }), { status: 201 })
      return new Response(JSON.stringify(url.pathname.endsWith('/file') ? compared : answers[base]), { status: 200 })
    }),
  )
})

async function open(messages = ['m1', 'm2']) {
  const store = useSessions()
  Object.assign(store.state, { user: { user_id: 'u', name: 'ada', role: 'admin' } })
  vi.spyOn(store, 'transcript').mockReturnValue({
    items: messages.map((m) => ({ kind: 'user', key: `message:${m}` })),
  } as never)
  const wrapper = mount(Changes, {
    props: {
      session: {
        session_id: ID,
        cwd: '/w/shop',
        state: 'user_turn',
        pending_requests: [],
        actions: [],
      } as unknown as SessionState,
    },
    global: { provide: { [portKey as symbol]: {} } },
    attachTo: document.body,
  })
  await flushPromises()
  return wrapper
}

test('the state before the last turn is compared by content', async () => {
  const wrapper = await open()
  expect(wrapper.text()).toContain('the commit before')
  await wrapper.get('select').setValue('turn')
  await flushPromises()
  expect(asked).toContain('/api/sessions/s/changes?base=turn&message_id=m2')
  expect(asked.at(-1)).toBe('/api/sessions/s/changes/file?base=turn&message_id=m2&path=a.ts')
  expect(wrapper.text()).toContain('the turn before')
  expect(wrapper.findAll('li')).toHaveLength(1)
  expect(wrapper.get('li').text()).toContain('+1−1')
  expect(wrapper.text()).toContain('Includes changes made by commands')
  expect(wrapper.text()).not.toContain('Discard changes')
})

test('what was viewed of a turn is not viewed of what is not committed', async () => {
  const wrapper = await open()
  await wrapper.get('select').setValue('turn')
  await flushPromises()
  await wrapper.get('input[type=checkbox]').setValue(true)
  expect(wrapper.text()).toContain('1 of 1 viewed')
  await wrapper.get('select').setValue('head')
  await flushPromises()
  expect(wrapper.text()).toContain('0 of 2 viewed')
})

test('without a repository the last turn is shown at once, with what is not known', async () => {
  answers.head = found('head', [], { repository: 'missing', main_branch: '' })
  answers.turn = found('turn', [file('/w/other/x', { uncommitted: false }), file('new.ts', { status: 'added' })], {
    repository: 'missing',
    source: 'checkpoints',
    commands: 2,
  })
  const wrapper = await open()
  expect(wrapper.find('select').exists()).toBe(false)
  expect(wrapper.text()).toContain('Since your last message')
  expect(wrapper.text()).toContain('the turn before')
  expect(wrapper.text()).toContain('Claude has also run 2 commands')
  // A file elsewhere is compared, and not opened here.
  expect(wrapper.text()).not.toContain('Open file')
  await wrapper.findAll('button.name')[1]!.trigger('click')
  await flushPromises()
  expect(wrapper.text()).toContain('Open file')
})

test('a state that is not known is said', async () => {
  answers.turn = found('turn', [])
  const wrapper = await open()
  await wrapper.get('select').setValue('turn')
  await flushPromises()
  expect(wrapper.text()).toContain('The state before the last turn isn’t known')
})

test.each([[['m1']], [[]]])('nothing is compared without a repository and checkpoints', async (messages) => {
  answers.head = found('head', [], { repository: 'missing' })
  answers.turn = found('turn', [], { repository: 'missing' })
  expect((await open(messages)).text()).toContain('This folder has no Git repository')
})

test('the header reads the branch again after a commit', async () => {
  const header = mount(SessionGit, { props: { session: { session_id: ID, state: 'user_turn' } as SessionState } })
  useSessions().status = { kind: 'open' } as never
  const wrapper = await open()
  const read = () => asked.filter((path) => path === '/api/sessions/s/git').length
  const before = read()
  expect(before).toBe(1)
  await wrapper.get('.bar .menu button, .bar button').trigger('click')
  await wrapper
    .findAll('button')
    .find((b) => b.text() === 'Commit…')!
    .trigger('click')
  wrapper.getComponent(CommitDialog).vm.$emit('done', 'c'.repeat(40))
  await flushPromises()
  expect(read()).toBe(before + 1)
  header.unmount()
})

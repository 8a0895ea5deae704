import { flushPromises, mount } from '@vue/test-utils'
import { beforeEach, expect, test, vi } from 'vitest'
import type { SessionState } from '@/state/reducer'
import type { Worktree } from '@/wire/messages.gen'
import WorktreeDialog from './WorktreeDialog.vue'

const ready: Worktree = {
  branch: 'fix/limiter',
  base: 'main',
  head: 'a'.repeat(40),
  folder: '/srv/my shop/.worktrees/fix-limiter',
  main: '/srv/my shop',
  base_checked_out: true,
  uncommitted: 0,
  unmerged: 2,
  merge: 'ready',
  branch_kept: true,
  conflicts: [],
  ignored: [],
  more_ignored: false,
  digest: 'd1',
}
let tree: Worktree
let sent: { path: string; body: unknown }[]
let removed: { kept: string; branch_kept: boolean }
beforeEach(() => {
  tree = ready
  sent = []
  removed = { kept: '', branch_kept: true }
  vi.stubGlobal(
    'fetch',
    vi.fn(async (path: string, init?: RequestInit) => {
      if (init?.method === 'POST') sent.push({ path, body: JSON.parse(init.body as string) })
      const body = path.endsWith('/merge') ? { commit: 'b'.repeat(40) } : path.endsWith('/remove') ? removed : tree
      return new Response(JSON.stringify(body), { status: 200 })
    }),
  )
})
async function open(state: SessionState['state'] = 'dead') {
  const wrapper = mount(WorktreeDialog, {
    props: { session: { session_id: 's', state } as SessionState },
    attachTo: document.body,
  })
  await flushPromises()
  const press = async (name: string) => {
    await wrapper
      .findAll('button')
      .find((b) => b.text() === name)!
      .trigger('click')
    await flushPromises()
  }
  return { wrapper, press, names: () => wrapper.findAll('button').map((b) => b.text()) }
}

test('a merge is of the state that was seen', async () => {
  const { wrapper, press } = await open()
  expect(wrapper.text()).toContain('2 commits ahead of main')
  expect(wrapper.text()).toContain('The files in /srv/my shop change.')
  await press('Merge into main')
  expect(sent).toEqual([{ path: '/api/sessions/s/worktree/merge', body: { digest: 'd1' } }])
  expect(wrapper.text()).toContain('Merged into main as bbbbbbbb.')
})

test.each([
  ['conflicts', "git -C '/srv/my shop/.worktrees/fix-limiter' merge main"],
  ['base_changed', "git -C '/srv/my shop' merge fix/limiter"],
  ['base_elsewhere', 'git merge fix/limiter'],
])('where the server does not merge (%s), the command is shown', async (merge, command) => {
  tree = { ...ready, merge, conflicts: merge === 'conflicts' ? ['a.txt'] : [] }
  const { wrapper, names } = await open()
  expect(names()).not.toContain('Merge into main')
  expect(wrapper.find('.command code').text()).toBe(command)
  expect(wrapper.text().includes('a.txt')).toBe(merge === 'conflicts')
})

test('before a removal, what stays and what is lost is named', async () => {
  tree = { ...ready, uncommitted: 1, merge: 'uncommitted', ignored: ['.env', 'node_modules/'], more_ignored: true }
  removed = { kept: 'c'.repeat(40), branch_kept: true }
  const { wrapper, press } = await open()
  await press('Remove…')
  const text = wrapper.text()
  expect(text).toContain('1 uncommitted file is kept as a commit.')
  expect(text).toContain('Branch fix/limiter is kept. main is missing 2 commits from it.')
  expect(wrapper.find('.lost').text()).toMatch(/permanently deleted: \.env\s*node_modules\/\s*and more/)
  await press('Remove worktree')
  expect(sent).toEqual([{ path: '/api/sessions/s/worktree/remove', body: { digest: 'd1' } }])
  expect(wrapper.find('.command code').text()).toBe(`git -C '/srv/my shop' branch restored ${'c'.repeat(40)}`)
})

test('it is not removed under Claude', async () => {
  const { wrapper, press } = await open('user_turn')
  await press('Remove…')
  expect(wrapper.text()).toContain('Claude is running here.')
  const button = wrapper.findAll('button').find((b) => b.text() === 'Remove worktree')!
  expect(button.attributes('aria-disabled') ?? button.attributes('disabled')).toBeDefined()
  await press('Remove worktree')
  expect(sent).toEqual([])
})

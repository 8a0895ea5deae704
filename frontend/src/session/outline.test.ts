// @vitest-environment node
import { describe, expect, test } from 'vitest'
import type { Item } from '@/wire/messages.gen'
import { changedIn } from './changed'
import { agentsIn, changedFilesIn } from './outline'
import { checklistIn, type ToolCall } from './rows'

let n = 0
const head = () => ({ seq: ++n, rev: n, key: `k${n}`, at: 1_700_000_000, agent_id: null })
const call = (tool_name: string, input: unknown, more: Partial<ToolCall> = {}): ToolCall => ({
  ...head(),
  kind: 'tool_call',
  tool_use_id: `t${n}`,
  tool_name,
  input,
  input_bytes: 2,
  status: 'done',
  result_bytes: 0,
  ...more,
})
const edit = (file_path: string, old_string: string, new_string: string, more: object = {}) =>
  call('Edit', { file_path, old_string, new_string, ...more })

describe('changed files', () => {
  test('are listed once with all their changes, the last changed first', () => {
    const items = [
      edit('/w/a', '1', '2'),
      edit('/w/b', '1', '2'),
      call('Bash', { command: 'ls' }),
      edit('./a', '2', '3'),
      call('NotebookEdit', { notebook_path: '/else/n.ipynb' }),
    ]
    const { files, unknownFiles } = changedFilesIn(items, '/w')
    expect(files.map((f) => [f.path, f.calls.length])).toEqual([
      ['/else/n.ipynb', 1],
      ['a', 2],
      ['b', 1],
    ])
    expect(unknownFiles).toBe(0)
  })

  test('exclude calls that were denied, failed or still run, and files that were only read', () => {
    const items = [
      call('Edit', { file_path: '/w/a' }, { status: 'failed' }),
      call('Write', { file_path: '/w/b' }, { status: 'running' }),
      call('Read', { file_path: '/w/c' }),
    ]
    expect(changedFilesIn(items, '/w')).toEqual({ files: [], unknownFiles: 0 })
  })

  test('include those of subagents; changes that were too large to record are counted separately', () => {
    const items = [call('Write', undefined), call('Edit', { file_path: '/w/a' }, { agent_id: 'x' })]
    expect(changedFilesIn(items, '/w')).toMatchObject({ files: [{ path: 'a' }], unknownFiles: 1 })
  })
})

describe('the change that a call reports', () => {
  test('counts, not the one Claude proposed', () => {
    const edited = { ...edit('/w/a', 'x', 'y'), change: { path: '/w/b', added: 3, removed: 1 } }
    expect(changedIn([edited])).toEqual({ added: 3, removed: 1, exact: true, overwritten: null })
    expect(
      changedFilesIn([edited, call('Write', undefined, { change: { path: '/w/c', added: 9, removed: 0 } })], '/w'),
    ).toMatchObject({ files: [{ path: 'c' }, { path: 'b' }], unknownFiles: 0 })
    expect(
      changedIn([{ ...edit('/w/a', 'x', 'y', { replace_all: true }), change: { path: '/w/a', added: 4, removed: 4 } }]),
    ).toEqual({ added: 4, removed: 4, exact: true, overwritten: null })
    expect(changedIn([call('Write', { content: '1\n2' }, { change: { path: '/w/a', added: 1, removed: 0 } })])).toEqual(
      { added: 1, removed: 0, exact: true, overwritten: null },
    )
  })
})

describe('changed lines', () => {
  test('are those of all edits of a file', () => {
    expect(
      changedIn([
        edit('/w/a', 'a\nb\n', 'a\nc\nd\n'),
        call('MultiEdit', {
          edits: [
            { old_string: 'x', new_string: 'y' },
            { old_string: 'z', new_string: '' },
          ],
        }),
      ]),
    ).toEqual({ added: 3, removed: 3, exact: true, overwritten: null })
  })

  test('are all lines of a new file, and unknown for an overwritten one', () => {
    const made = { result: 'File created successfully at: /w/a' }
    expect(changedIn([call('Write', { content: '1\n2\n' }, made)])).toEqual({
      added: 2,
      removed: 0,
      exact: true,
      overwritten: null,
    })
    expect(changedIn([call('Write', { content: '1\n2\n3' }, { result: 'The file /w/a has been updated.' })])).toEqual({
      added: 0,
      removed: 0,
      exact: true,
      overwritten: 3,
    })
  })

  test('are a lower bound where one edit may have replaced several places', () => {
    expect(changedIn([edit('/w/a', 'x', 'y', { replace_all: true })])).toMatchObject({
      added: 1,
      removed: 1,
      exact: false,
    })
    expect(changedIn([call('NotebookEdit', { new_source: 'x' })])).toMatchObject({ added: 0, exact: false })
    expect(changedIn([call('NotebookEdit', { new_source: 'x\ny', edit_mode: 'insert' })])).toMatchObject({
      added: 2,
      exact: true,
    })
  })
})

test('the to-do list is the last of the main thread, even when all is done', () => {
  const todo = (content: string, agent_id: string | null = null): Item => ({
    ...head(),
    agent_id,
    kind: 'todo',
    todos: [{ content, status: 'completed' }],
  })
  expect(checklistIn([todo('first'), todo('last'), todo('of another', 'x')])).toEqual([
    { content: 'last', status: 'completed' },
  ])
  expect(checklistIn([])).toBeNull()
  expect(checklistIn([todo('first'), { ...head(), kind: 'todo', todos: [] }])).toBeNull()
})

test('subagents are listed with their description and state', () => {
  const agent = (id: string, status: 'running' | 'done' | 'failed'): Item => ({
    ...head(),
    agent_id: id,
    kind: 'subagent',
    agent_type: 'Explore',
    description: `look ${id}`,
    status,
  })
  const items = [
    agent('a', 'done'),
    agent('b', 'running'),
    call('Bash', {}, { agent_id: 'b', tool_use_id: 'asks' }),
    call('Bash', {}, { agent_id: 'headless' }),
  ]
  expect(agentsIn(items, [{ tool_use_id: 'asks' }] as never)).toEqual([
    { id: 'a', name: 'Explore', description: 'look a', state: 'done', key: items[0]!.key },
    { id: 'b', name: 'Explore', description: 'look b', state: 'waiting', key: items[1]!.key },
    { id: 'headless', name: '', description: '', state: 'running', key: items[3]!.key },
  ])
})

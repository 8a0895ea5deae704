import { describe, expect, it } from 'vitest'
import type { SessionState } from '@/state/reducer'
import type { Item, Request } from '@/wire/messages.gen'
import { batchable, batchProblem, fetchedFrom, lineOf, MAX_BATCH } from './batch'
import { asks, process, question, request } from './testdock'

const session: SessionState = { ...process([]), updated_at: 1 }
const waiting = (r: Request) => ({ session, request: r })
const alone = (r: Request, group = false) => batchable(waiting(r), 'member', group)
const problem = (...list: Request[]) => batchProblem(list.map(waiting), 'member')
const look = (id: string, more: Partial<Request> = {}) =>
  request(id, { tool_name: 'Read', tool_input: { file_path: '/w/a' }, risk: 'low', ...more })
const call = (tool_name: string, tool_input: unknown) => request('a', { tool_name, tool_input })

describe('a bulk approval', () => {
  it('covers low-risk requests of one tool, no more than a person can read', () => {
    expect(problem(look('a'), look('b'))).toBe(null)
    expect(problem(look('a'), look('b', { tool_name: 'Grep' }))).toBe('mixed')
    expect(problem(look('a'), look('b', { risk: 'medium' }))).toBe('risk')
    expect(problem(look('a', { risk: 'medium' }), look('b', { risk: 'high' }))).toBe('high')
    expect(problem(look('a', { requires_user_interaction: true }))).toBe('risk')
    expect(problem(...Array.from({ length: MAX_BATCH }, (_, i) => look(`${i}`)))).toBe(null)
    expect(problem(...Array.from({ length: MAX_BATCH + 1 }, (_, i) => look(`${i}`)))).toBe('many')
    expect(batchProblem([waiting(look('a'))], 'viewer')).toBe('rights')
  })
  it('depends on the server’s review of a call, not on its tool', () => {
    expect(alone(request('a', { tool_name: 'Bash', risk: 'low' }))).toBe(true)
    expect(alone(look('a', { risk: 'medium' }))).toBe(false)
  })
  it('may include medium risk within one session, and never high risk', () => {
    expect(alone(look('a', { risk: 'medium' }), true)).toBe(true)
    expect(alone(look('a', { risk: 'high' }), true)).toBe(false)
    expect(alone(look('a', { risk: 'medium', classifier_approvable: false }), true)).toBe(false)
  })
  it('excludes requests without a review, questions, and those of dead processes', () => {
    const tools = ['Read', 'Grep', 'Bash', 'Write', 'Edit', 'ExitPlanMode', 'mcp__x__Read', 'constructor']
    expect(tools.filter((tool_name) => alone(request('a', { tool_name })))).toEqual([])
    expect(alone(asks('a', [question('q', 'select', ['x'])]))).toBe(false)
    expect(alone(look('a', { status: 'orphaned' }))).toBe(false)
  })
})

describe('a line in a list', () => {
  const of = (tool: string, input: unknown) => {
    const { place, text, more, partial } = lineOf(call(tool, input), '/w')
    return [place, text, more, ...(partial ? ['partial'] : [])]
  }
  it('puts a URL under its host, or shows all of it if it is not a plain one', () => {
    expect(of('WebFetch', { url: 'https://docs.example.com/v2/a?b=c', prompt: 'What?' })).toEqual([
      'docs.example.com',
      '/v2/a?b=c',
      '',
    ])
    expect(of('WebFetch', { url: 'https://docs.example.com' })).toEqual(['docs.example.com', '/', ''])
    expect(of('WebFetch', { url: 'http://127.0.0.1:9/x' })).toEqual(['http://127.0.0.1:9', '/x', ''])
    for (const url of [
      'https://docs.example.com@evil.example/',
      'https://bücher.example/',
      'file:///etc/passwd',
      'HTTPS://A.example/x',
    ])
      expect(of('WebFetch', { url })).toEqual(['', url, ''])
  })
  it('puts a file under its folder, and says that a change must be opened', () => {
    expect(of('Read', { file_path: '/w/src/a.go', limit: 5 })).toEqual(['src/', 'a.go', 'limit: 5'])
    expect(of('Read', { file_path: '/w/a.go' })).toEqual(['./', 'a.go', ''])
    expect(of('Edit', { file_path: '/etc/a', old_string: 'x', new_string: 'y' })).toEqual(['/etc/', 'a', '', 'partial'])
  })
  it('shows the whole command, and all of an unknown input', () => {
    expect(of('Bash', { command: 'ls\nmake', description: 'Look', run_in_background: true })).toEqual([
      '',
      'ls\nmake',
      'run_in_background: true',
    ])
    expect(of('Grep', { pattern: 'x', path: 'y' })).toEqual(['', 'pattern: x\npath: y', ''])
  })
})

it('knows a host once a page of it was fetched', () => {
  const fetch = (url: string, status: string) =>
    ({ kind: 'tool_call', tool_name: 'WebFetch', input: { url }, status }) as unknown as Item
  expect([...fetchedFrom([fetch('https://a.example/x', 'done'), fetch('https://b.example/x', 'failed')])]).toEqual([
    'a.example',
  ])
})

import { describe, expect, it } from 'vitest'
import { asks, process, question, request } from '@/pending/testdock'
import type { SessionState } from '@/state/reducer'
import type { Request } from '@/wire/messages.gen'
import { after, batchable, matches, mayJoin, MAX_BATCH, NO_FILTER, ordered } from './queue'

const session: SessionState = { ...process([]), updated_at: 1 }
const waiting = (r: Request) => ({ session, request: r })
const joins = (r: Request, selected: Request[]) => mayJoin(waiting(r), selected.map(waiting), 'member')
const alone = (r: Request) => batchable(waiting(r), 'member')
const look = (id: string, more: Partial<Request> = {}) =>
  request(id, { tool_name: 'Read', tool_input: { file_path: '/w/a' }, risk: 'low', ...more })

describe('the queue', () => {
  it('puts what was put off after the rest and keeps both in order', () => {
    const all = ['a', 'b', 'c', 'd'].map((id) => waiting(request(id)))
    expect(ordered(all, (id) => id === 'a' || id === 'c')).toEqual(['b', 'd', 'a', 'c'])
  })
  it('goes on to the next, at the end to the first that is left', () => {
    expect(after(['a', 'b', 'c'], 'b', ['a', 'c'])).toBe('c')
    expect(after(['a', 'b', 'c'], 'c', ['a', 'b'])).toBe('a')
    expect(after(['a'], 'a', [])).toBeUndefined()
  })
  it('filters by tool, folder and risk', () => {
    const w = waiting(look('a'))
    expect(matches(w, NO_FILTER)).toBe(true)
    expect(matches(w, { ...NO_FILTER, tool: 'Bash' })).toBe(false)
    expect(matches(w, { ...NO_FILTER, project: '/w', risk: 'low' })).toBe(true)
    expect(matches(waiting(request('b')), { ...NO_FILTER, risk: 'low' })).toBe(false)
    const red = waiting(request('c', { risk: 'high' }))
    expect((['low', 'medium', 'high'] as const).filter((risk) => matches(red, { ...NO_FILTER, risk }))).toEqual([
      'high',
    ])
  })
})

describe('a batch', () => {
  it('is of one tool and of low risk, and no longer than a person reads', () => {
    expect(joins(look('a'), [])).toBe(true)
    expect(joins(look('a'), [look('b'), look('c')])).toBe(true)
    expect(joins(look('a'), [look('b', { tool_name: 'Grep' })])).toBe(false)
    expect(
      joins(
        look('a'),
        Array.from({ length: MAX_BATCH }, (_, i) => look(`${i}`)),
      ),
    ).toBe(false)
  })
  it('goes by what the server says of a call, and not by its tool', () => {
    expect(alone(request('a', { tool_name: 'Bash', risk: 'low' }))).toBe(true)
    expect(alone(look('a', { risk: 'medium' }))).toBe(false)
    expect(joins(look('a', { risk: 'high' }), [look('b')])).toBe(false)
  })
  it('has nothing of which the server says nothing, that asks, or whose process died', () => {
    const tools = ['Read', 'Grep', 'Bash', 'Write', 'Edit', 'ExitPlanMode', 'mcp__x__Read', 'constructor']
    expect(tools.filter((tool_name) => alone(request('a', { tool_name })))).toEqual([])
    expect(alone(asks('a', [question('q', 'select', ['x'])]))).toBe(false)
    expect(alone(look('a', { status: 'orphaned' }))).toBe(false)
  })
})

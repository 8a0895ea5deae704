import { describe, expect, it } from 'vitest'
import { process, request } from '@/pending/testdock'
import type { SessionState } from '@/state/reducer'
import type { Request } from '@/wire/messages.gen'
import { after, matches, NO_FILTER, ordered } from './queue'

const session: SessionState = { ...process([]), updated_at: 1 }
const waiting = (r: Request) => ({ id: r.request_id, session, requests: [r] })
const look = (id: string, more: Partial<Request> = {}) =>
  request(id, { tool_name: 'Read', tool_input: { file_path: '/w/a' }, risk: 'low', ...more })

describe('the queue', () => {
  it('puts snoozed requests last and keeps both parts in order', () => {
    const all = ['a', 'b', 'c', 'd'].map((id) => waiting(request(id)))
    expect(ordered(all, (id) => id === 'a' || id === 'c')).toEqual(['b', 'd', 'a', 'c'])
  })
  it('continues with the next request, and at the end with the first that is left', () => {
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
    const risky = waiting(request('c', { risk: 'high' }))
    expect((['low', 'medium', 'high'] as const).filter((risk) => matches(risky, { ...NO_FILTER, risk }))).toEqual([
      'high',
    ])
  })
})

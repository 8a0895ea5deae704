import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, describe, expect, it } from 'vitest'
import { useSessions } from '@/state/sessions'
import type { Request } from '@/wire/messages.gen'
import { grouped, MAX_GROUP, useGroups, type Group } from './groups'
import { asks, process, question, request } from './testdock'

const at = (id: string, created_at: number, more: Partial<Request> = {}) =>
  request(id, { tool_name: 'WebFetch', risk: 'medium', created_at, ...more })
const none: ReadonlySet<string> = new Set()
const groupsOf = (requests: Request[], was: readonly Group[] = [], apart = none) => grouped('s', requests, was, apart)
const idsOf = (requests: Request[], was?: readonly Group[], apart = none) =>
  groupsOf(requests, was, apart).map((g) => g.requestIDs.join(''))

describe('requests of one session', () => {
  it('form a group when three with the same tool arrive within 5 s', () => {
    expect(idsOf([at('a', 0), at('b', 2), at('c', 5)])).toEqual(['abc'])
    expect(idsOf([at('a', 0), at('b', 2), at('c', 5.1)])).toEqual([])
    expect(idsOf([at('a', 0), at('b', 2)])).toEqual([])
    expect(idsOf([at('a', 0), at('b', 1), at('c', 1, { tool_name: 'Bash' })])).toEqual([])
    expect(idsOf([at('c', 5), at('a', 0), at('b', 2)])).toEqual(['abc'])
  })
  it('form none while only two of three are close together', () => {
    expect(idsOf([at('a', 0), at('b', 4), at('c', 7), at('d', 8)])).toEqual(['bcd'])
    expect(idsOf([at('a', 0), at('b', 6), at('c', 12)])).toEqual([])
  })
  it('join a group for 5 s after its newest request, at once or later', () => {
    const burst = [at('a', 0), at('b', 1), at('c', 2)]
    expect(idsOf([...burst, at('d', 7), at('e', 12), at('f', 17.5)])).toEqual(['abcde'])
    const was = groupsOf(burst)
    expect(idsOf([...burst, at('d', 7)], was)).toEqual(['abcd'])
    expect(idsOf([...burst, at('d', 7.1)], was)).toEqual(['abc'])
  })
  it('stay a group until none is left, with the id of the first', () => {
    const was = groupsOf([at('a', 0), at('b', 1), at('c', 2)])
    const left = groupsOf([at('c', 2)], was)
    expect(left).toMatchObject([{ id: 'a', requestIDs: ['c'] }])
    expect(groupsOf([], left)).toEqual([])
    // A page that is opened then shows what is left alone.
    expect(idsOf([at('c', 2)])).toEqual([])
  })
  it('join no group when they need a card of their own', () => {
    const alone: Partial<Request>[] = [
      { risk: 'high' },
      { risk: undefined as never },
      { default_to_no: true },
      { requires_user_interaction: true },
      { status: 'orphaned' },
      { source: 'mcp' },
      { tool_name: 'ExitPlanMode' },
      { approval: { effect: 'two_people' } as never },
    ]
    for (const more of alone) expect(idsOf(['a', 'b', 'c'].map((id) => at(id, 0, more)))).toEqual([])
    expect(idsOf(['a', 'b', 'c'].map((id) => asks(id, [question('q', 'text', [])])))).toEqual([])
    expect(idsOf([at('a', 0), at('b', 0), at('c', 0, { risk: 'high' }), at('d', 0)])).toEqual(['abd'])
  })
  it('stay alone when somebody is at the card', () => {
    expect(idsOf([at('a', 0), at('b', 1), at('c', 2)], [], new Set(['a']))).toEqual([])
  })
  it('form a group no larger than the server accepts at once', () => {
    const many = Array.from({ length: MAX_GROUP + 3 }, (_, i) => at(`${i}.`, i / 100))
    expect(groupsOf(many).map((g) => g.requestIDs.length)).toEqual([MAX_GROUP, 3])
  })
})

describe('the list of waiting requests', () => {
  beforeEach(() => setActivePinia(createPinia()))
  let version = 1
  const show = (...requests: Request[]) =>
    useSessions().apply([{ ...process(requests), version: ++version }], { now: 0, commandOf: () => undefined })

  it('counts a group as one, even when few of its requests are left', () => {
    const groups = useGroups()
    show(at('a', 0), at('b', 1), at('x', 1, { tool_name: 'Bash' }), at('c', 2))
    expect(groups.units.map((u) => [u.id, u.group, u.requests.length])).toEqual([
      ['a', true, 3],
      ['x', false, 1],
    ])
    show(at('x', 1, { tool_name: 'Bash' }), at('c', 2))
    expect(groups.units.map((u) => [u.id, u.group, u.request.request_id])).toEqual([
      ['x', false, 'x'],
      ['a', true, 'c'],
    ])
    expect(groups.groupOf('c')?.id).toBe('a')
  })
  it('shows the requests of a group separately on request', () => {
    const groups = useGroups()
    show(at('a', 0), at('b', 1), at('c', 2))
    expect(groups.units).toHaveLength(1)
    groups.separate('a')
    expect(groups.units).toHaveLength(3)
  })
  it('leaves a request alone that had the focus before others arrived', () => {
    const groups = useGroups()
    show(at('a', 0))
    groups.keepApart(['a'])
    show(at('a', 0), at('b', 1), at('c', 2), at('d', 3))
    expect(groups.units.map((u) => u.requests.length)).toEqual([1, 3])
  })
})

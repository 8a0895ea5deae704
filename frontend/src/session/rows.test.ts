// @vitest-environment node
import { describe, expect, test } from 'vitest'
import type { Item } from '@/wire/messages.gen'
import { contains, rowWith, rowsOf, runsOf, stepsOf, type Decision } from './rows'

const text = (seq: number, agent_id: string | null): Item => ({
  seq,
  rev: seq,
  key: 'k' + seq,
  at: 0,
  kind: 'text',
  agent_id,
  text: '',
})
const agent = (seq: number, id: string): Item => ({
  seq,
  rev: seq,
  key: 'k' + seq,
  at: 0,
  kind: 'subagent',
  agent_id: id,
  status: 'running',
})

test('the output of a subagent is grouped where it started', () => {
  const rows = rowsOf(
    [text(1, null), agent(2, 'a'), text(3, 'a'), agent(4, 'b'), text(5, null), text(6, 'a'), text(7, 'b')],
    null,
  )
  expect(rows.map((r) => r.key)).toEqual(['k1', 'agent:a', 'agent:b', 'k5'])
  expect(rows[1]).toMatchObject({ item: { seq: 2 }, items: [{ seq: 3 }, { seq: 6 }] })
})

test('output of a subagent that is not known yet is shown', () => {
  expect(rowsOf([text(1, 'a')], null)).toMatchObject([{ kind: 'agent', item: null, items: [{ seq: 1 }] }])
})

test('the growing block is last', () => {
  expect(rowsOf([text(1, null)], { kind: 'text', text: 'I', agent_id: null }).at(-1)).toMatchObject({ kind: 'live' })
})

test('only the last to-do list is current', () => {
  const todo = (seq: number): Item => ({
    seq,
    rev: seq,
    key: 'k' + seq,
    at: 0,
    kind: 'todo',
    agent_id: null,
    todos: [],
  })
  const rows = rowsOf([todo(1), text(2, null), todo(3)], null)
  expect(rows.map((r) => r.kind === 'item' && r.past)).toEqual([true, false, false])
})

const call = (seq: number, tool_name: string, agent_id: string | null = null): Item => ({
  seq,
  rev: seq,
  key: 'k' + seq,
  at: 0,
  kind: 'tool_call',
  agent_id,
  tool_use_id: 't' + seq,
  tool_name,
  input_bytes: 0,
  status: 'done',
  result_bytes: 0,
})

test('three or more consecutive calls of one tool are one row', () => {
  const rows = runsOf(
    rowsOf(
      [
        call(1, 'Read'),
        call(2, 'Read'),
        call(3, 'Read'),
        call(4, 'Grep'),
        call(5, 'Grep'),
        text(6, null),
        call(7, 'Grep'),
        call(8, 'Bash'),
        call(9, 'Bash'),
        text(10, null),
        call(11, 'Bash'),
        call(12, 'Edit'),
        call(13, 'Edit'),
        call(14, 'Edit'),
        call(15, 'Edit'),
      ],
      null,
    ),
  )
  expect(rows.map((r) => r.key)).toEqual(['calls:k1', 'k4', 'k5', 'k6', 'k7', 'k8', 'k9', 'k10', 'k11', 'calls:k12'])
  expect(rows.at(-1)).toMatchObject({ kind: 'calls', items: [{ seq: 12 }, { seq: 13 }, { seq: 14 }, { seq: 15 }] })
})

test('a row keeps its key while its run grows, and calls of a subagent stay with it', () => {
  const three = [call(1, 'Read'), call(2, 'Read'), call(3, 'Read')]
  expect(runsOf(rowsOf(three, null)).map((r) => r.key)).toEqual(['calls:k1'])
  expect(runsOf(rowsOf([...three, call(4, 'Read')], null)).map((r) => r.key)).toEqual(['calls:k1'])
  expect(
    runsOf(rowsOf([call(1, 'Read'), call(2, 'Read', 'a'), call(3, 'Read'), call(4, 'Read')], null)).map((r) => r.key),
  ).toEqual(['k1', 'agent:a', 'k3', 'k4'])
})

test('the steps of a subagent are grouped like the main thread', () => {
  const steps = stepsOf([
    call(1, 'Read', 'a'),
    call(2, 'Read', 'a'),
    call(3, 'Read', 'a'),
    text(4, 'a'),
    call(5, 'Grep', 'a'),
  ])
  expect(steps.map((r) => r.key)).toEqual(['calls:k1', 'k4', 'k5'])
  expect(rowWith(steps, 'k2')?.key).toBe('calls:k1')
  expect(rowWith(steps, 'k5')?.key).toBe('k5')
  expect(rowWith(steps, 'none')).toBeUndefined()
})

describe('an approval', () => {
  const approval = (seq: number, more: Partial<Decision> = {}): Decision => ({
    seq,
    rev: seq,
    key: 'k' + seq,
    at: 0,
    kind: 'resolved',
    agent_id: null,
    request_id: 'r' + seq,
    request_type: 'tool_approval',
    tool_name: 'Bash',
    tool_use_id: 't1',
    outcome: 'answered',
    summary: 'Approved',
    waited: 0,
    ...more,
  })
  const rows = (...items: Item[]) => runsOf(rowsOf(items, null))

  test('is told in the line of its call', () => {
    const found = rows(call(1, 'Bash'), text(2, null), approval(3))
    expect(found.map((r) => r.key)).toEqual(['k1', 'k2'])
    expect(found[0]).toMatchObject({ approval: { key: 'k3' } })
    expect(contains(found[0]!, 'k3')).toBe(true)
  })

  test.each<[string, Partial<Decision>]>([
    ['was denied', { outcome: 'denied', summary: 'Denied' }],
    ['was edited', { edited: true }],
    ['has a message', { message: 'Go on.' }],
    ['grants more', { summary: 'Approved, with permissions' }],
    ['was carried over', { carried: true }],
    ['is of no call', { tool_use_id: 'other' }],
  ])('has a row of its own if it %s', (_, more) => {
    expect(rows(call(1, 'Bash'), approval(2, more)).map((r) => r.key)).toEqual(['k1', 'k2'])
  })

  test('keeps its call apart from others', () => {
    const found = rows(call(1, 'Bash'), approval(2), call(3, 'Bash'), call(4, 'Bash'), call(5, 'Bash'))
    expect(found.map((r) => r.key)).toEqual(['k1', 'calls:k3'])
  })
})

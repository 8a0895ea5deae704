import { expect, test } from 'vitest'
import type { Item } from '@/wsapi/messages.gen'
import { rowsOf } from './rows'

const text = (seq: number, agent_id: string | null): Item => ({ seq, rev: seq, key: 'k' + seq, at: 0, kind: 'text', agent_id, text: '' })
const agent = (seq: number, id: string): Item => ({
  seq, rev: seq, key: 'k' + seq, at: 0, kind: 'subagent', agent_id: id, status: 'running',
})

test('what subagents say is gathered under each, where it began', () => {
  const rows = rowsOf([text(1, null), agent(2, 'a'), text(3, 'a'), agent(4, 'b'), text(5, null), text(6, 'a'), text(7, 'b')], null)
  expect(rows.map((r) => r.key)).toEqual(['k1', 'agent:a', 'agent:b', 'k5'])
  expect(rows[1]).toMatchObject({ item: { seq: 2 }, items: [{ seq: 3 }, { seq: 6 }] })
})

test('words of a subagent that is not known yet are shown', () => {
  expect(rowsOf([text(1, 'a')], null)).toMatchObject([{ kind: 'agent', item: null, items: [{ seq: 1 }] }])
})

test('the growing block is last', () => {
  expect(rowsOf([text(1, null)], { kind: 'text', text: 'I', agent_id: null }).at(-1)).toMatchObject({ kind: 'live' })
})

test('of the todo lists only the last is current', () => {
  const todo = (seq: number): Item => ({ seq, rev: seq, key: 'k' + seq, at: 0, kind: 'todo', agent_id: null, todos: [] })
  const rows = rowsOf([todo(1), text(2, null), todo(3)], null)
  expect(rows.map((r) => r.kind === 'item' && r.past)).toEqual([true, false, false])
})

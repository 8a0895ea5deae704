import type { Item, Live, Todo } from '@/wire/messages.gen'

export type ToolCall = Extract<Item, { kind: 'tool_call' }>
export type Subagent = Extract<Item, { kind: 'subagent' }>
export type Decision = Extract<Item, { kind: 'resolved' }>

/** Row is one row of the displayed transcript. */
export type Row =
  | {
      key: string
      kind: 'item'
      item: Item
      /** A todo list that a later one replaces, or that is shown above the transcript. */
      past: boolean
      /** The approval of a call, if it has no separate row. */
      approval?: Decision
    }
  /** The items of a subagent under its own row; item is null until that item has arrived. */
  | { key: string; kind: 'agent'; agent_id: string; item: Subagent | null; items: Item[] }
  | { key: string; kind: 'live'; live: Live }

/**
 * Reports whether the line of a call can show a decision completely: an approval of the original input, without
 * a rule. Calls of subagents are in groups, where nobody would see it.
 */
const isPlain = (it: Item): it is Decision =>
  it.kind === 'resolved' &&
  it.agent_id === null &&
  it.outcome === 'answered' &&
  it.summary === 'Approved' &&
  !it.edited &&
  !it.carried &&
  !it.message &&
  it.proposed_input === undefined

/** rowsOf returns the rows of a transcript. The items of a subagent are grouped at the first of them. */
export function rowsOf(items: readonly Item[], live: Live | null): Row[] {
  const rows: Row[] = []
  const todo = items.findLast((it) => it.kind === 'todo' && it.agent_id === null)
  const above = todosOf(items) !== null
  const agents = new Map<string, Extract<Row, { kind: 'agent' }>>()
  const calls = new Map<string, Extract<Row, { kind: 'item' }>>()
  for (const item of items) {
    if (item.agent_id === null) {
      const call = isPlain(item) ? calls.get(item.tool_use_id ?? '') : undefined
      if (call) {
        call.approval = item as Decision
        continue
      }
      const row: Row = { key: item.key, kind: 'item', item, past: item.kind === 'todo' && (above || item !== todo) }
      if (item.kind === 'tool_call') calls.set(item.tool_use_id, row)
      rows.push(row)
      continue
    }
    let row = agents.get(item.agent_id)
    if (!row) {
      row = { key: 'agent:' + item.agent_id, kind: 'agent', agent_id: item.agent_id, item: null, items: [] }
      agents.set(item.agent_id, row)
      rows.push(row)
    }
    if (item.kind === 'subagent') row.item = item
    else row.items.push(item)
  }
  if (live) rows.push({ key: 'live', kind: 'live', live })
  return rows
}

/** Calls are consecutive calls of one tool. */
export interface Calls {
  key: string
  kind: 'calls'
  items: ToolCall[]
}

// Fewer calls are easy to read as single rows.
const MIN_RUN = 3

/** runsOf returns the rows with consecutive calls of one tool combined. */
export function runsOf(rows: readonly Row[]): (Row | Calls)[] {
  const out: (Row | Calls)[] = []
  let run: ToolCall[] = []
  let singles: Row[] = []
  const end = () => {
    if (run.length >= MIN_RUN) out.push({ key: 'calls:' + run[0]!.key, kind: 'calls', items: run })
    else out.push(...singles)
    run = []
    singles = []
  }
  for (const row of rows) {
    // A call that a person approved stays on its own.
    const call = row.kind === 'item' && row.item.kind === 'tool_call' && !row.approval ? row.item : null
    if (run.length > 0 && call?.tool_name !== run[0]!.tool_name) end()
    if (call) {
      run.push(call)
      singles.push(row)
    } else out.push(row)
  }
  end()
  return out
}

/** stepsOf returns the items of a subagent as rows. */
export function stepsOf(items: readonly Item[]): (Row | Calls)[] {
  return runsOf(items.map((item) => ({ key: item.key, kind: 'item', item, past: false })))
}

/** rowWith returns the row that contains an item, alone or in a run. */
export const rowWith = (rows: readonly (Row | Calls)[], key: string): Row | Calls | undefined =>
  rows.find((r) => r.key === key || (r.kind === 'calls' && r.items.some((it) => it.key === key)))

/** contains reports whether an item is in a row, or is its head. */
export const contains = (row: Row | Calls, key: string): boolean =>
  (row.kind === 'item' && row.approval?.key === key) ||
  (row.kind === 'agent' && row.item?.key === key) ||
  ((row.kind === 'agent' || row.kind === 'calls') && row.items.some((it) => it.key === key))

/** checklistIn returns the latest todo list of the main thread, null if there is none. */
export function checklistIn(items: readonly Item[]): Todo[] | null {
  const list = items.findLast((it) => it.kind === 'todo' && it.agent_id === null)
  return list?.kind === 'todo' && list.todos.length > 0 ? list.todos : null
}

/** todosOf returns that list while an entry is not done, else null. */
export function todosOf(items: readonly Item[]): Todo[] | null {
  const list = checklistIn(items)
  return list?.some((d) => d.status !== 'completed') ? list : null
}

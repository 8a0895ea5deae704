import { shownPath } from '@/text/path'
import { asInput } from '@/pending/edit'
import type { Item, Request } from '@/wire/messages.gen'
import { rowsOf, type Subagent, type ToolCall } from './rows'

// Summaries of a whole transcript for the session details. The server sends transcripts completely,
// so they are correct once the last page has arrived.

const EDITS = new Set(['Edit', 'MultiEdit', 'Write', 'NotebookEdit'])

/** ChangedFile is a changed file. */
interface ChangedFile {
  /** The path as displayed. */
  path: string
  /** The calls that changed it, oldest first, at least one. */
  calls: ToolCall[]
}

/**
 * changedFilesIn returns the files that Claude's tools changed, the most recent first; files changed by
 * commands are not included. unknownFiles is the number of changes that were too large for the transcript
 * to record their file.
 */
export function changedFilesIn(items: readonly Item[], cwd: string): { files: ChangedFile[]; unknownFiles: number } {
  const calls = new Map<string, ToolCall[]>()
  let unknownFiles = 0
  for (const it of items) {
    // A call that failed, was denied or still runs has changed nothing.
    if (it.kind !== 'tool_call' || it.status !== 'done' || !EDITS.has(it.tool_name)) continue
    const input = asInput(it.input)
    const path = it.change?.path ?? input['file_path'] ?? input['notebook_path']
    if (typeof path !== 'string' || path === '') {
      unknownFiles++
      continue
    }
    const { text } = shownPath(path, cwd)
    const before = calls.get(text) ?? []
    before.push(it)
    calls.delete(text)
    calls.set(text, before)
  }
  return { files: [...calls].map(([path, of]) => ({ path, calls: of })).toReversed(), unknownFiles }
}

interface Agent {
  id: string
  name: string
  description: string
  state: Subagent['status'] | 'waiting'
  /** Key of the block to go to. */
  key: string
}

/** agentsIn returns the subagents in the order in which they started. */
export function agentsIn(items: readonly Item[], requests: readonly Request[]): Agent[] {
  const asked = new Set(requests.map((r) => r.tool_use_id).filter(Boolean))
  return rowsOf(
    items.filter((it) => it.agent_id !== null),
    null,
  ).flatMap((row): Agent[] => {
    if (row.kind !== 'agent') return []
    // The CLI identifies a subagent that asks by another id than one that speaks; the tool call is
    // the same.
    const waits = row.items.some((it) => it.kind === 'tool_call' && asked.has(it.tool_use_id))
    return [
      {
        id: row.agent_id,
        name: row.item?.agent_type ?? '',
        description: row.item?.description ?? '',
        state: waits ? 'waiting' : (row.item?.status ?? 'running'),
        key: row.item?.key ?? row.items[0]!.key,
      },
    ]
  })
}

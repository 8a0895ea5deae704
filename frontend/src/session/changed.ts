import { diffOf } from '@/text/diff'
import { asInput } from '@/pending/edit'
import type { ToolCall } from './rows'

/** How many lines calls changed. */
export interface Changed {
  added: number
  removed: number
  /** False when there may be more than is counted. */
  sure: boolean
  /** How many lines a file has that was written over as a whole; null when none was. */
  anew: number | null
}

const NONE: Changed = { added: 0, removed: 0, sure: true, anew: null }

// A diff is dear, and a call that is done does not change.
const known = new WeakMap<ToolCall, Changed>()

const str = (v: unknown): string => (typeof v === 'string' ? v : '')
const lines = (text: string): number => (text === '' ? 0 : text.replace(/\n$/, '').split('\n').length)

function changedBy(call: ToolCall): Changed {
  // What became of the file; the input is only what Claude proposed.
  if (call.change) return { ...NONE, added: call.change.added, removed: call.change.removed }
  const input = asInput(call.input)
  switch (call.tool_name) {
    case 'Write': {
      const written = lines(str(input['content']))
      // What stood in a file before is not told.
      return call.result?.startsWith('File created') ? { ...NONE, added: written } : { ...NONE, anew: written }
    }
    case 'NotebookEdit':
      return input['edit_mode'] === 'insert'
        ? { ...NONE, added: lines(str(input['new_source'])) }
        : { ...NONE, sure: false }
  }
  const edits = Array.isArray(input['edits']) ? input['edits'].map(asInput) : [input]
  return edits.reduce<Changed>((sum, e) => {
    const { added, removed } = diffOf(str(e['old_string']), str(e['new_string']))
    // How often it stood there is not told.
    return {
      ...sum,
      added: sum.added + added,
      removed: sum.removed + removed,
      sure: sum.sure && e['replace_all'] !== true,
    }
  }, NONE)
}

/** What some calls changed together. */
export function changedIn(calls: readonly ToolCall[]): Changed {
  return calls.reduce<Changed>((sum, call) => {
    const one = known.get(call) ?? changedBy(call)
    known.set(call, one)
    return {
      added: sum.added + one.added,
      removed: sum.removed + one.removed,
      sure: sum.sure && one.sure,
      anew: one.anew ?? sum.anew,
    }
  }, NONE)
}

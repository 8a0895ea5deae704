import { diffOf } from '@/text/diff'
import { asInput } from '@/pending/edit'
import type { ToolCall } from './rows'

/** Changed counts the lines that calls changed. */
export interface Changed {
  added: number
  removed: number
  /** False if there may be more changes than counted. */
  exact: boolean
  /** The number of lines of a file that was overwritten as a whole, null if none was. */
  overwritten: number | null
}

const NONE: Changed = { added: 0, removed: 0, exact: true, overwritten: null }

// Diffs are expensive, and a finished call does not change.
const known = new WeakMap<ToolCall, Changed>()

const str = (v: unknown): string => (typeof v === 'string' ? v : '')
const lines = (text: string): number => (text === '' ? 0 : text.replace(/\n$/, '').split('\n').length)

function changedBy(call: ToolCall): Changed {
  // The actual change of the file; the input is only what Claude proposed.
  if (call.change) return { ...NONE, added: call.change.added, removed: call.change.removed }
  const input = asInput(call.input)
  switch (call.tool_name) {
    case 'Write': {
      const written = lines(str(input['content']))
      // The result does not contain the previous content of the file.
      return call.result?.startsWith('File created') ? { ...NONE, added: written } : { ...NONE, overwritten: written }
    }
    case 'NotebookEdit':
      return input['edit_mode'] === 'insert'
        ? { ...NONE, added: lines(str(input['new_source'])) }
        : { ...NONE, exact: false }
  }
  const edits = Array.isArray(input['edits']) ? input['edits'].map(asInput) : [input]
  return edits.reduce<Changed>((sum, e) => {
    const { added, removed } = diffOf(str(e['old_string']), str(e['new_string']))
    // The result does not contain the number of replaced occurrences.
    return {
      ...sum,
      added: sum.added + added,
      removed: sum.removed + removed,
      exact: sum.exact && e['replace_all'] !== true,
    }
  }, NONE)
}

/** Returns the sum of the changes of some calls. */
export function changedIn(calls: readonly ToolCall[]): Changed {
  return calls.reduce<Changed>((sum, call) => {
    const one = known.get(call) ?? changedBy(call)
    known.set(call, one)
    return {
      added: sum.added + one.added,
      removed: sum.removed + one.removed,
      exact: sum.exact && one.exact,
      overwritten: one.overwritten ?? sum.overwritten,
    }
  }, NONE)
}

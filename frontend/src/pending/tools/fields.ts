import type { ToolInput } from '../edit'
import { shownPath } from '@/text/path'

// What each view of a tool shows by itself. Whatever else an input has, fields that
// nobody here knows among it, is listed below the view: nothing is approved unseen.

/** Whether a view shows a value; of a list or an object, what its parts need for that. */
type Shape = ((value: unknown, cwd: string) => boolean) | { each: Shape } | { fields: Readonly<Record<string, Shape>> }

const text: Shape = (v) => typeof v === 'string'
const isTrue: Shape = (v) => v === true
const oneOf =
  (...all: unknown[]): Shape =>
  (v) =>
    all.includes(v)
/** A path is shown from the folder of the session on; one that is written in another way is listed as it is. */
const path: Shape = (v, cwd) => {
  if (typeof v !== 'string') return false
  const shown = shownPath(v, cwd).text
  return v === shown || v === `${cwd}/${shown}`
}

// False is what it is without a word.
const EDIT = { old_string: text, new_string: text, replace_all: oneOf(true, false) }

const VIEWS: Record<string, { needs: readonly string[]; shape: Shape }> = {
  // The span of a timeout is rounded in words, so its number is listed too.
  Bash: {
    needs: ['command'],
    shape: {
      fields: { command: text, description: text, run_in_background: isTrue, dangerouslyDisableSandbox: isTrue },
    },
  },
  Write: { needs: ['file_path', 'content'], shape: { fields: { file_path: path, content: text } } },
  Edit: { needs: ['file_path', 'old_string', 'new_string'], shape: { fields: { file_path: path, ...EDIT } } },
  MultiEdit: {
    needs: ['file_path', 'edits'],
    shape: { fields: { file_path: path, edits: { each: { fields: EDIT } } } },
  },
  NotebookEdit: {
    needs: ['notebook_path'],
    shape: {
      fields: { notebook_path: path, cell_id: text, new_source: text, edit_mode: oneOf('replace', 'insert', 'delete') },
    },
  },
  ExitPlanMode: { needs: ['plan'], shape: { fields: { plan: text } } },
}

/** Whether a tool's own view can show an input: the fields it is made for are what it expects. */
export function fits(tool: string, input: ToolInput): boolean {
  const view = VIEWS[tool]
  if (!view) return false
  return view.needs.every((name) => (name === 'edits' ? Array.isArray(input[name]) : typeof input[name] === 'string'))
}

/** What the view of a tool does not show of an input, by the way to each value. */
export function unshown(tool: string, input: ToolInput, cwd: string): ToolInput {
  const view = VIEWS[tool]
  if (!view) return {}
  const out = beyond(input, view.shape, cwd)
  // A cell that goes has no new text, so none is shown.
  if (tool === 'NotebookEdit' && input['edit_mode'] === 'delete' && input['new_source'])
    out['new_source'] = input['new_source']
  return out
}

/** What of a value is not as a shape has it: "edits[1].note" and its value. */
function beyond(value: unknown, shape: Shape, cwd = ''): ToolInput {
  const out: [string, unknown][] = []
  visit(value, shape, '')
  return Object.fromEntries(out)

  function visit(v: unknown, of: Shape | undefined, name: string): void {
    if (typeof of === 'function' ? of(v, cwd) : of && 'each' in of && Array.isArray(v)) {
      if (typeof of === 'object' && 'each' in of)
        (v as unknown[]).forEach((one, i) => visit(one, of.each, `${name}[${i}]`))
      return
    }
    if (typeof of === 'object' && 'fields' in of && typeof v === 'object' && v !== null && !Array.isArray(v)) {
      for (const [key, one] of Object.entries(v)) {
        visit(one, Object.hasOwn(of.fields, key) ? of.fields[key] : undefined, name === '' ? key : `${name}.${key}`)
      }
      return
    }
    out.push([name, v])
  }
}

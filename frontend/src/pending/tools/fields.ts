import type { ToolInput } from '../edit'
import { shownPath } from '@/text/path'

// The values that the view of each tool shows. All others of an input, also in unknown fields,
// are listed below the view, so that nothing is approved unseen.

/** Shape reports whether a view shows a value, or holds the shapes of a list's or object's parts. */
type Shape = ((value: unknown, cwd: string) => boolean) | { each: Shape } | { fields: Readonly<Record<string, Shape>> }

const text: Shape = (v) => typeof v === 'string'
const isTrue: Shape = (v) => v === true
const oneOf =
  (...all: unknown[]): Shape =>
  (v) =>
    all.includes(v)
/** A path is shown relative to the folder of the session; one that is not normalized is also listed as it is. */
const path: Shape = (v, cwd) => {
  if (typeof v !== 'string') return false
  const shown = shownPath(v, cwd).text
  return v === shown || v === `${cwd}/${shown}`
}

// False is the default, so the view need not show it.
const EDIT = { old_string: text, new_string: text, replace_all: oneOf(true, false) }

const VIEWS: Record<string, { needs: readonly string[]; shape: Shape }> = {
  // The view rounds a timeout, so its exact number is listed too.
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

const knownView = (tool: string) => (Object.hasOwn(VIEWS, tool) ? VIEWS[tool] : undefined)

/** fits reports whether the view of a tool can show an input: the fields that it needs have the expected types. */
export function fits(tool: string, input: ToolInput): boolean {
  const view = knownView(tool)
  if (!view) return false
  return view.needs.every((name) => (name === 'edits' ? Array.isArray(input[name]) : typeof input[name] === 'string'))
}

/** notShown returns the values of an input that the view of its tool does not show, by their path. */
export function notShown(tool: string, input: ToolInput, cwd: string): ToolInput {
  const view = knownView(tool)
  if (!view) return {}
  const out = beyond(input, view.shape, cwd)
  // A deleted cell has no new text.
  if (tool === 'NotebookEdit' && input['edit_mode'] === 'delete' && input['new_source'])
    out['new_source'] = input['new_source']
  return out
}

/** Returns the parts of a value that do not match a shape: "edits[1].note" and its value. */
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

import { withEnds } from './lineends'

/** A tool input with Claude's own field names. Its shape is not checked. */
export type ToolInput = Record<string, unknown>

export type Edited =
  { ok: true; input: ToolInput; changed: boolean } | { ok: false; message: string; line: number | null }

/** The field of each tool that is edited as plain text. Other inputs are edited as JSON. */
const FIELD: Record<string, string> = { Bash: 'command', Write: 'content', Edit: 'new_string' }

export function asInput(input: unknown): ToolInput {
  return typeof input === 'object' && input !== null && !Array.isArray(input) ? (input as ToolInput) : {}
}

/** descriptionOf returns the description of a request, or "" if the input already shows it. */
export function descriptionOf({ description }: { description: string | null }, input: ToolInput): string {
  // The CLI repeats Claude's description of a command, and a file's name.
  if (!description || description === input['description']) return ''
  return String(input['file_path'] ?? '').endsWith(description) ? '' : description
}

/** The field that is edited as text, or null for JSON. */
export function editedField(tool: string, input: ToolInput): string | null {
  const field = Object.hasOwn(FIELD, tool) ? FIELD[tool] : undefined
  return field !== undefined && typeof input[field] === 'string' ? field : null
}

export function editableText(tool: string, input: ToolInput): string {
  const field = editedField(tool, input)
  return field === null ? JSON.stringify(input, null, 2) : (input[field] as string)
}

/** The input with the edited text in it. */
export function withText(tool: string, input: ToolInput, text: string): Edited {
  const field = editedField(tool, input)
  if (field !== null) {
    if (field === 'command' && text.trim() === '') return { ok: false, message: 'empty', line: null }
    const whole = withEnds(input[field] as string, text)
    return { ok: true, input: { ...input, [field]: whole }, changed: whole !== input[field] }
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (err) {
    const message = err instanceof Error ? err.message : String(err)
    return { ok: false, message, line: lineOf(message, text) }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { ok: false, message: 'object', line: 1 }
  }
  return {
    ok: true,
    input: value as ToolInput,
    changed: JSON.stringify(value) !== JSON.stringify(input),
  }
}

/** lineOf returns the line of a JSON error, or null. Engines report a line, a position or only the end. */
function lineOf(message: string, text: string): number | null {
  const line = /line (\d+)/.exec(message)
  if (line) return Number(line[1])
  const position = /position (\d+)/.exec(message)
  if (position) return text.slice(0, Number(position[1])).split('\n').length
  return /end of|unterminated/i.test(message) ? text.split('\n').length : null
}

import type { Request } from '@/wire/messages.gen'
import { serverOf } from './asker'
import { asInput, type ToolInput } from './edit'

// The parts of a question's input that its form does not show: unknown fields, the values
// behind labels, patterns.

// The form is built from these fields: one answer or several, bounds, required questions.
const SWITCHES = /^(multi_?select|multiple|required|(allow_?)?(free_?text|other))$/i
const BOUNDS = /^(minimum|maximum|(min|max)_?(length|items))$/i
const KINDS: Record<string, RegExp> = {
  type: /^(object|string|number|integer|boolean|array)$/,
  kind: /^(text|select|multi_select|confirm)$/,
  mode: /^(form|url)$/,
  format: /^(email|uri|date|date-time)$/,
}
const NAMES = /^(required|property_order)$/

/** notShownInForm returns the input values that the form of a request does not show, by their path. */
export function notShownInForm(request: Request, also: readonly string[] = []): ToolInput {
  const questions = request.form?.questions ?? []
  const ids = new Set(questions.map((q) => q.id))
  const texts = new Set([
    request.form?.title ?? '',
    serverOf(request),
    ...also,
    ...questions.flatMap((q) => [
      q.question,
      q.header,
      q.description ?? '',
      q.kind === 'text' ? (q.placeholder ?? '') : '',
      ...(q.default ?? []),
      ...q.options.flatMap((o) => [o.label, o.description, o.preview ?? '']),
    ]),
  ])
  const out: [string, unknown][] = []

  function isShown(key: string, value: unknown, within: string): boolean {
    switch (typeof value) {
      case 'string':
        return (
          texts.has(value) ||
          (Object.hasOwn(KINDS, key) && KINDS[key]!.test(value)) ||
          (NAMES.test(within) && ids.has(value))
        )
      case 'boolean':
        return SWITCHES.test(key) || texts.has(String(value))
      case 'number':
        return BOUNDS.test(key) || texts.has(String(value))
    }
    return value === undefined
  }

  function visit(value: unknown, path: string, key: string, within: string): void {
    if (typeof value === 'object' && value !== null) {
      const parts = Object.entries(value)
      for (const [name, part] of parts) {
        if (Array.isArray(value)) visit(part, `${path}[${name}]`, '', key)
        else visit(part, path === '' ? name : `${path}.${name}`, name, key)
      }
    } else if (!isShown(key, value, within)) out.push([path, value])
  }
  visit(asInput(request.tool_input), '', '', '')
  return Object.fromEntries(out)
}

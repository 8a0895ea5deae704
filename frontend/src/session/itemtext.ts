import type { Item } from '@/wire/messages.gen'
import { textOf } from './items/ansi'

const strings = (value: unknown): string[] => {
  if (typeof value === 'string') return [value]
  if (typeof value === 'number' || typeof value === 'boolean') return [String(value)]
  if (Array.isArray(value)) return value.flatMap(strings)
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(strings)
  return []
}
const lines = (...parts: (string | undefined | null)[]) => parts.filter(Boolean).join('\n')

/** textOfItem returns the text of an item as people read it, for copying and searching. */
export function textOfItem(it: Item): string {
  switch (it.kind) {
    case 'user':
      return lines(it.text, ...(it.attachments ?? []).map((a) => a.name))
    case 'text':
    case 'thinking':
    case 'plan':
    case 'note':
      return it.text
    case 'tool_call':
      return lines(it.tool_name, ...strings(it.input), it.result && textOf(it.result))
    case 'todo':
      return lines(...it.todos.map((d) => d.content))
    case 'subagent':
      return lines(it.agent_type, it.description, it.result)
    case 'resolved':
      return lines(it.summary, it.message, it.by, it.tool_name, ...strings(it.tool_input))
    case 'result':
      return it.text ?? ''
  }
}

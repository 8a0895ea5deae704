import { shownPath } from '@/text/path'
import type { IconName } from '@/ui/Icon.vue'

const str = (v: unknown): string => (typeof v === 'string' ? v : '')

/** toolLine returns a tool call as one line. */
export function toolLine(tool: string, input: unknown, cwd: string): { icon: IconName; name: string; line: string } {
  const i = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {}
  const path = str(i['file_path']) || str(i['notebook_path']) || str(i['path'])
  switch (tool) {
    case 'Bash':
      return { icon: 'terminal', name: tool, line: str(i['command']) }
    case 'Read':
    case 'Write':
      return { icon: 'file', name: tool, line: path && shownPath(path, cwd).text }
    case 'Edit':
    case 'MultiEdit':
    case 'NotebookEdit':
      return { icon: 'edit', name: tool, line: path && shownPath(path, cwd).text }
    case 'WebFetch':
      return { icon: 'globe', name: tool, line: str(i['url']) }
    case 'WebSearch':
      return { icon: 'globe', name: tool, line: str(i['query']) }
    case 'Task':
    case 'Agent':
      return { icon: 'agent', name: tool, line: str(i['description']) }
    case 'ExitPlanMode':
      return { icon: 'plan', name: tool, line: '' }
    case 'AskUserQuestion':
      return { icon: 'question', name: tool, line: '' }
  }
  const mcp = /^mcp__(.+?)__(.+)$/s.exec(tool)
  const first = Object.values(i).find((v) => typeof v === 'string')
  return { icon: 'tool', name: mcp ? `${mcp[1]} · ${mcp[2]}` : tool, line: str(i['pattern']) || path || str(first) }
}

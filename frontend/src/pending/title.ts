import { t } from '@/i18n'
import type { IconName } from '@/ui/Icon.vue'
import type { Request } from '@/wire/messages.gen'
import { askerPhrase } from './asker'
import { asInput } from './edit'
import { shownPath } from '@/text/path'

/** Title names a request, in the head of its card and in lists. */
export interface Title {
  icon: IconName
  title: string
  /** One line, such as "go test ./..." */
  line: string
}

const str = (v: unknown): string => (typeof v === 'string' ? v : '')

export function titleOf(request: Request, cwd = ''): Title {
  const p = t.pending.title
  if (request.request_type === 'ask_user_question') {
    const questions = request.form?.questions ?? []
    const line = questions.length === 1 ? plain(questions[0]!.question) : t.pending.questions(questions.length)
    if (request.source === 'elicitation') return { icon: 'question', ...elicited(request, line) }
    return { icon: 'question', title: request.form?.title || p.questions(questions.length, askerPhrase(request)), line }
  }
  const input = asInput(request.tool_input)
  const path = (v: unknown) => (cwd === '' ? str(v) : shownPath(str(v), cwd).text)
  switch (request.tool_name) {
    case 'Bash':
      return { icon: 'terminal', title: p.bash, line: str(input['command']) }
    case 'Write':
      return { icon: 'file', title: p.write, line: path(input['file_path']) }
    case 'Edit':
    case 'MultiEdit':
    case 'NotebookEdit':
      return { icon: 'edit', title: p.edit, line: path(input['file_path'] ?? input['notebook_path']) }
    case 'ExitPlanMode':
      return { icon: 'plan', title: p.plan, line: t.pending.planReady }
    case 'WebFetch':
      return { icon: 'globe', title: p.fetch, line: str(input['url']) }
    case 'WebSearch':
      return { icon: 'globe', title: p.search, line: str(input['query']) }
  }
  const mcp = /^mcp__(.+?)__(.+)$/s.exec(request.tool_name)
  // If names contain underscores, the end of the server's name is ambiguous.
  const server = request.mcp_server?.name
  const of =
    server && request.tool_name.startsWith(`mcp__${server}__`)
      ? request.tool_name.slice(`mcp__${server}__`.length)
      : mcp?.[2]
  if (mcp) return { icon: 'tool', title: p.mcp(of!, server ?? mcp[1]!), line: of! }
  return {
    icon: 'tool',
    title: p.other(request.tool_name),
    line: request.title || path(input['file_path'] ?? input['pattern']),
  }
}

// Lists show fewer characters, and marks are searched to the end of the text.
const LINE = 400

/** Returns a Markdown text on one line, without the most common marks. */
const plain = (text: string) =>
  text
    .slice(0, LINE)
    .replace(/(\*\*|__|`{1,3}|~~)(?=\S)(.+?)\1/g, '$2')
    .replace(/\s+/g, ' ')
    .trim()

/** elicitationOf returns the input of an elicitation, as the MCP server sent it. */
export function elicitationOf(request: Request): { visit: boolean; message: string; url: string } {
  const input = asInput(request.tool_input)
  return { visit: input['mode'] === 'url', message: str(input['message']), url: str(input['url']) }
}

function elicited(request: Request, line: string): { title: string; line: string } {
  const { visit, message } = elicitationOf(request)
  // The form has the message as its title, which may be of any length.
  return { title: visit ? t.pending.title.visit : t.pending.title.elicitation, line: plain(message) || line }
}

/** lineOf returns the line of a list, such as "Bash: go test ./...". */
export function lineOf(request: Request, cwd = ''): string {
  const { line } = titleOf(request, cwd)
  if (request.request_type === 'ask_user_question' || request.tool_name === 'ExitPlanMode') return line
  return line ? `${request.tool_name}: ${line}` : request.tool_name
}

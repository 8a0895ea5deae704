import { shown } from '@/text/hidden'
import type { Request } from '@/wire/messages.gen'
import { asInput } from './edit'
import { headings } from './plan'
import { titleOf } from './title'

const MAX_CHARS = 300

// Their cards name the file above the scrolling part; see FileIdentity.vue.
const NAMED = new Set(['Edit', 'MultiEdit', 'Write', 'NotebookEdit'])

/** subjectOf returns a line that names the subject of a request while its body is out of view; '' if the card names it anyway. */
export function subjectOf(request: Request, cwd: string): string {
  if (NAMED.has(request.tool_name) || (request.form?.questions.length ?? 0) > 1) return ''
  const plan =
    request.tool_name === 'ExitPlanMode'
      ? headings(String(asInput(request.tool_input)['plan'] ?? ''))[0]?.text
      : undefined
  const lines = (plan ?? titleOf(request, cwd).line).trim().split('\n')
  const first = lines[0]!
  return shown(first.slice(0, MAX_CHARS)) + (lines.length > 1 || first.length > MAX_CHARS ? ' …' : '')
}

import { shown } from '@/text/hidden'
import type { Request } from '@/wire/messages.gen'
import { asInput } from './edit'
import { headings } from './plan'
import { titleOf } from './title'

const MAX_CHARS = 300

/** subjectOf returns one line that names what a request is about, for where its body is scrolled out of sight. */
export function subjectOf(request: Request, cwd: string): string {
  const plan =
    request.tool_name === 'ExitPlanMode'
      ? headings(String(asInput(request.tool_input)['plan'] ?? ''))[0]?.text
      : undefined
  const lines = (plan ?? titleOf(request, cwd).line).trim().split('\n')
  const first = lines[0]!
  return shown(first.slice(0, MAX_CHARS)) + (lines.length > 1 || first.length > MAX_CHARS ? ' …' : '')
}

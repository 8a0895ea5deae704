import { t } from '@/i18n'
import type { Request } from '@/wire/messages.gen'

/** Home is the part of a session that names its Claude. */
export interface Home {
  title: string
  cwd: string
}

/** askerOf returns the name of the asker: "Claude in api-server", "agent X over MCP". */
export function askerOf(request: Request, home: Home): string {
  if (request.source === 'elicitation') return t.pending.asker.server(serverOf(request))
  if (request.asker) return request.asker
  return t.pending.asker.claude(home.title || home.cwd.split('/').filter(Boolean).at(-1) || t.session.untitled)
}

/** askerPhrase returns the asker as the subject of a sentence on its card. */
export function askerPhrase(request: Pick<Request, 'source' | 'asker'>): string {
  if (request.source === 'elicitation') return t.pending.asker.theServer
  // The asker in a terminal is a Claude, too.
  return request.source === 'mcp' && request.asker ? t.pending.asker.theAgent : t.pending.asker.itself
}

export function serverOf(request: Request): string {
  return request.tool_name || t.pending.asker.unnamed
}

import { t } from '@/i18n'
import type { Request } from '@/wire/messages.gen'

/** What is needed of a session to name its Claude. */
export interface Home {
  title: string
  cwd: string
}

/** Who asks, as it is always said: "Claude in api-server", "agent X over MCP". */
export function askerOf(request: Request, home: Home): string {
  if (request.source === 'elicitation') return t.pending.asker.server(serverOf(request))
  if (request.asker) return request.asker
  return t.pending.asker.claude(home.title || home.cwd.split('/').filter(Boolean).at(-1) || t.session.untitled)
}

/** The asker in the sentences of its card. */
export function whoOf(request: Pick<Request, 'source' | 'asker'>): string {
  if (request.source === 'elicitation') return t.pending.asker.theServer
  // In a terminal it is a Claude that asks.
  return request.source === 'mcp' && request.asker ? t.pending.asker.theAgent : t.pending.asker.itself
}

export function serverOf(request: Request): string {
  return request.tool_name || t.pending.asker.unnamed
}

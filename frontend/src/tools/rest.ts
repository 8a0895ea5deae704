import { call } from '@/connection/rest'
import type { ServerChange, ServerChanged, SessionTools } from '@/wire/messages.gen'

const at = (id: string) => `/api/sessions/${encodeURIComponent(id)}/tools`

export const rest = {
  tools: (id: string) => call<SessionTools>('GET', at(id)),
  change: (id: string, change: ServerChange) => call<ServerChanged>('POST', `${at(id)}/server`, change),
}

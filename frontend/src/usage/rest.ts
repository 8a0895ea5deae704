import { call } from '@/connection/rest'
import type { ContextUsage, CostHistory } from '@/wire/messages.gen'

const at = (id: string, path: string) => `/api/sessions/${encodeURIComponent(id)}/${path}`

export const rest = {
  context: (id: string) => call<ContextUsage>('GET', at(id, 'context')),
  costs: (id: string) => call<CostHistory>('GET', at(id, 'costs')),
}

import type { AlertChoices, Alerts, AlertTarget, AlertTargetCreate, AlertTest } from '@/wire/messages.gen'
import { call } from '@/connection/rest'

/** Whose notifications: the person's own, or the server's. */
export type Whose = 'mine' | 'server'

const at = (path: string, whose: Whose) => `/api/alerts${path}${whose === 'server' ? '?of=server' : ''}`

export const alerts = {
  get: (whose: Whose) => call<Alerts>('GET', at('', whose)),
  choose: (whose: Whose, body: AlertChoices) => call<null>('PATCH', at('/choices', whose), body),
  add: (whose: Whose, body: AlertTargetCreate) => call<AlertTarget>('POST', at('/targets', whose), body),
  remove: (whose: Whose, id: string) => call<null>('DELETE', at(`/targets/${encodeURIComponent(id)}`, whose)),
  test: (whose: Whose, id: string) => call<AlertTest>('POST', at(`/targets/${encodeURIComponent(id)}/test`, whose), {}),
}

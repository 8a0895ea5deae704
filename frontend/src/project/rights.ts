import type { Action, Role } from '@/wsapi/messages.gen'

/** Whether a person may do something in a session. Outside of projects the role on the server says it. */
export const may = (session: { rights?: readonly Action[] | null }, right: Action, role: Role | undefined): boolean =>
  session.rights ? session.rights.includes(right) : role !== 'viewer'

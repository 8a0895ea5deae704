import type { Action, Request, Role } from '@/wire/messages.gen'

/** Whether a person may do something in a session. Outside of projects the role on the server says it. */
export const may = (session: { rights?: readonly Action[] | null }, right: Action, role: Role | undefined): boolean =>
  session.rights ? session.rights.includes(right) : role !== 'viewer'

/** Whether a person may approve what a request asks for: the rules of the project may keep it for others. */
export const mayApprove = (
  session: { rights?: readonly Action[] | null },
  request: Request,
  role: Role | undefined,
): boolean => may(session, 'answer', role) && request.approval?.may !== false && !request.approval?.first?.mine

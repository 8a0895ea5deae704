import type { Action, Request, Role } from '@/wire/messages.gen'

/**
 * may reports whether a person may do something in a session. Outside of projects, their role on the server
 * decides.
 */
export const may = (session: { rights?: readonly Action[] | null }, right: Action, role: Role | undefined): boolean =>
  session.rights ? session.rights.includes(right) : role !== 'viewer'

/**
 * mayApprove reports whether a person may approve a request, which a rule of the project may reserve for
 * others.
 */
export const mayApprove = (
  session: { rights?: readonly Action[] | null },
  request: Request,
  role: Role | undefined,
): boolean => may(session, 'answer', role) && request.approval?.may !== false && !request.approval?.first?.mine

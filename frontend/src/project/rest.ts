import type { LimitList, Project, ProjectChange, ProjectCreate, ProjectList } from '@/wire/messages.gen'
import { call } from '@/connection/rest'

const one = (id: string) => `/api/projects/${encodeURIComponent(id)}`

export const projects = {
  list: () => call<ProjectList>('GET', '/api/projects'),
  one: (id: string) => call<Project>('GET', one(id)),
  create: (body: ProjectCreate) => call<Project>('POST', '/api/projects', body),
  change: (id: string, body: ProjectChange) => call<Project>('PATCH', one(id), body),
  remove: (id: string) => call<null>('DELETE', one(id)),
  limits: () => call<LimitList>('GET', '/api/limits'),
  withdraw: (requestID: string) =>
    call<unknown>('POST', `/api/pending/${encodeURIComponent(requestID)}/withdraw_approval`, {}),
}

import type {
  AuditPage,
  AuditState,
  Diagnostics,
  GrantList,
  GrantRevoke,
  Outcome,
  ProcessList,
  RunnerChange,
  RunnerList,
  RunnerToken,
  Revocation,
  Session,
  SettingChange,
  SettingList,
  SignInList,
  Storage,
  TrustedFolderList,
  TrustRevoke,
} from '@/wire/messages.gen'
import { call } from '@/connection/rest'

const one = (path: string, id: string) => `${path}/${encodeURIComponent(id)}`
const query = (values: Record<string, string>) => {
  const given = Object.entries(values).filter(([, value]) => value !== '')
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`
}

export const admin = {
  processes: (samples: boolean) => call<ProcessList>('GET', `/api/processes${samples ? '?samples=true' : ''}`),
  diagnostics: (id: string) => call<Diagnostics>('GET', `${one('/api/processes', id)}/diagnostics`),
  interrupt: (id: string) => call<Outcome>('POST', `${one('/api/sessions', id)}/interrupt`, {}),
  archive: (id: string) => call<Session>('PATCH', one('/api/sessions', id), { archived: true }),
  signIns: (userID: string) => call<SignInList>('GET', `/api/sign_ins${query({ user_id: userID })}`),
  endSignIn: (userID: string, id: string) =>
    call<null>('DELETE', `${one('/api/sign_ins', id)}${query({ user_id: userID })}`),
  grants: (over: boolean) => call<GrantList>('GET', `/api/grants${query({ revoked: over ? 'true' : '' })}`),
  revoke: (what: GrantRevoke) => call<Revocation>('POST', '/api/grants/revoke', what),
  trustedFolders: () => call<TrustedFolderList>('GET', '/api/trusted_folders'),
  distrust: (what: TrustRevoke) => call<null>('POST', '/api/trusted_folders/revoke', what),
  auditState: () => call<AuditState>('GET', '/api/audit/state'),
  storage: (limits: Record<string, string>) => call<Storage>('GET', `/api/storage${query(limits)}`),
  runners: () => call<RunnerList>('GET', '/api/runners'),
  addRunner: (name: string) => call<RunnerToken>('POST', '/api/runners', { name }),
  changeRunner: (id: string, change: RunnerChange) => call<RunnerList>('PATCH', one('/api/runners', id), change),
  removeRunner: (id: string) => call<null>('DELETE', one('/api/runners', id)),
  replaceRunnerToken: (id: string) => call<RunnerToken>('POST', `${one('/api/runners', id)}/token`, {}),
  revokeRunnerToken: (id: string) => call<null>('DELETE', `${one('/api/runners', id)}/token`),
  settings: () => call<SettingList>('GET', '/api/settings'),
  changeSetting: (change: SettingChange) => call<SettingList>('PATCH', '/api/settings', change),
  audit: (filters: Record<string, string>) => call<AuditPage>('GET', `/api/audit${query(filters)}`),
}

import { withTrust } from './trust'
import { forgetPageKey, keepPageKey, keyHeaders } from './pagekey'
import type {
  CreateSession,
  Environment,
  ErrorBody,
  FolderList,
  MachineList,
  FolderTrust,
  Login,
  Me,
  MessageList,
  Outcome,
  Refusal,
  RequestFate,
  SearchResults,
  Session,
  SessionList,
  SessionPatch,
  TerminalPage,
  TerminalSession,
  TerminalSessionList,
  TranscriptPage,
} from '@/wire/messages.gen'

/** RefusedError is a refusal of the server, with the sentence for the person. */
export class RefusedError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly field: string | null,
    readonly trust: FolderTrust | null = null,
    /** The reason and parameters with which the message is translated. */
    readonly error: Pick<ErrorBody, 'reason' | 'params'> = {},
  ) {
    super(message)
    this.name = 'RefusedError'
  }

  /** Returns the error of a response that is not ok; error is its body. */
  static of(status: number, error: ErrorBody | undefined): RefusedError {
    if (!error) return new RefusedError(status, '', '', null)
    return new RefusedError(status, error.code, error.message, error.field ?? null, error.folder_trust ?? null, error)
  }
}

/** UnreachableError: the server could not be reached, or the reply is not from sayso. */
export class UnreachableError extends Error {
  constructor(options?: ErrorOptions) {
    super('unreachable', options)
    this.name = 'UnreachableError'
  }
}

/** Makes a REST call. It throws a {@link RefusedError} or {@link UnreachableError} if it fails. */
export async function call<T>(method: string, path: string, body?: object, signal?: AbortSignal): Promise<T> {
  const init: RequestInit = {
    method,
    ...(signal ? { signal } : {}),
    credentials: 'same-origin',
    headers: { Accept: 'application/json', ...keyHeaders() },
  }
  if (body !== undefined) {
    init.body = JSON.stringify(body)
    init.headers = { ...init.headers, 'Content-Type': 'application/json' }
  }
  let response: globalThis.Response
  let text: string
  try {
    response = await fetch(path, init)
    text = await response.text()
  } catch (err) {
    throw new UnreachableError({ cause: err })
  }
  let value: unknown = null
  try {
    value = text === '' ? null : JSON.parse(text)
  } catch (err) {
    throw new UnreachableError({ cause: err })
  }
  if (!response.ok) {
    const error = (value as Refusal | null)?.error
    throw RefusedError.of(response.status, error)
  }
  return value as T
}

/** Fetches a file from the server, with a body by POST. */
export async function file(path: string, body?: object): Promise<globalThis.Response> {
  let response: globalThis.Response
  const init: RequestInit = { credentials: 'same-origin', headers: keyHeaders() }
  try {
    response = await fetch(
      path,
      body
        ? {
            ...init,
            method: 'POST',
            body: JSON.stringify(body),
            headers: { ...keyHeaders(), 'Content-Type': 'application/json' },
          }
        : init,
    )
  } catch (err) {
    throw new UnreachableError({ cause: err })
  }
  if (response.ok) return response
  const error = ((await response.json().catch(() => null)) as Refusal | null)?.error
  throw RefusedError.of(response.status, error)
}

/** Saves a file from the server as a download with this name. The browser never opens it as a page. */
export async function save(path: string, name: string, body?: object): Promise<void> {
  const response = await file(path, body)
  let bytes: Blob
  try {
    bytes = await response.blob() // a browser may keep it on disk, unlike an array
  } catch (err) {
    throw new UnreachableError({ cause: err })
  }
  const address = URL.createObjectURL(bytes.slice(0, bytes.size, 'application/octet-stream'))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), 60_000) // some browsers read it later
}

/** Stores the page key that every kind of sign-in returns. */
export async function signedIn(answer: Promise<Me>): Promise<Me> {
  const me = await answer
  if (me.page_key) keepPageKey(me.page_key)
  return me
}

const session = (id: string) => `/api/sessions/${encodeURIComponent(id)}`

/** onMachine returns the part of an address that names a machine; nothing for this server. */
export const onMachine = (separator: '?' | '&', runnerID: string): string =>
  runnerID === '' ? '' : `${separator}runner_id=${encodeURIComponent(runnerID)}`

export const rest = {
  login: (body: Login) => signedIn(call<Me>('POST', '/api/login', body)),
  logout: () => call<null>('POST', '/api/logout', {}).finally(forgetPageKey),
  environment: (runnerID = '') => call<Environment>('GET', `/api/environment${onMachine('?', runnerID)}`),
  machines: () => call<MachineList>('GET', '/api/machines'),
  sessions: (limit: number) => call<SessionList>('GET', `/api/sessions?limit=${limit}`),
  transcript: (id: string, after: number) =>
    call<TranscriptPage>('GET', `${session(id)}/transcript?after=${after}&limit=500`),
  session: (id: string) => call<Session>('GET', session(id)),
  create: (body: Omit<CreateSession, 'type'>) =>
    withTrust((more) => call<Outcome>('POST', '/api/sessions', { ...body, ...more })),
  interrupt: (id: string) => call<Outcome>('POST', `${session(id)}/interrupt`, {}),
  kill: (id: string) => call<Outcome>('POST', `${session(id)}/kill`, {}),
  resume: (id: string) => withTrust((more) => call<Outcome>('POST', `${session(id)}/resume`, more)),
  extend: (requestID: string) => call<Outcome>('POST', `/api/pending/${encodeURIComponent(requestID)}/extend`, {}),
  pending: (requestID: string) => call<RequestFate>('GET', `/api/pending/${encodeURIComponent(requestID)}`),
  queue: (id: string) => call<MessageList>('GET', `${session(id)}/messages`),
  unqueue: (id: string, messageID: string) =>
    call<null>('DELETE', `${session(id)}/messages/${encodeURIComponent(messageID)}`),
  findSessions: (words: string, cursor: string | null, signal: AbortSignal) =>
    call<SessionList>(
      'GET',
      '/api/sessions?' +
        new URLSearchParams({ archived: 'true', limit: '50', q: words, ...(cursor ? { cursor } : {}) }).toString(),
      undefined,
      signal,
    ),
  terminalSessions: () => call<TerminalSessionList>('GET', '/api/terminal_sessions'),
  terminalSession: (id: string) => call<TerminalSession>('GET', `/api/terminal_sessions/${encodeURIComponent(id)}`),
  terminalTranscript: (id: string, before: number | null) =>
    call<TerminalPage>(
      'GET',
      `/api/terminal_sessions/${encodeURIComponent(id)}/transcript${before === null ? '' : `?before=${before}`}`,
    ),
  search: (words: string, cursor: string | null, signal: AbortSignal) =>
    call<SearchResults>(
      'GET',
      '/api/search?' + new URLSearchParams({ archived: 'true', q: words, ...(cursor ? { cursor } : {}) }).toString(),
      undefined,
      signal,
    ),
  folders: (prefix: string, runnerID = '') =>
    call<FolderList>(
      'GET',
      `/api/folders?${new URLSearchParams({ prefix, limit: '20' }).toString()}${onMachine('&', runnerID)}`,
    ),
  change: (id: string, patch: SessionPatch) => call<Session>('PATCH', session(id), patch),
  /** With a message the new conversation ends before it. */
  fork: (id: string, commandID: string, messageID?: string) =>
    withTrust((more) =>
      call<Outcome>('POST', `${session(id)}/fork`, { command_id: commandID, message_id: messageID, ...more }),
    ),
  setModel: (id: string, model: string) => call<Outcome>('POST', `${session(id)}/model`, { model }),
  setPermissionMode: (id: string, mode: string) =>
    call<Outcome>('POST', `${session(id)}/permission_mode`, { permission_mode: mode }),
}

import type { SocketLike } from './connection'
import { keyProtocols } from './pagekey'

// The first connection is made before anything is drawn: what the server has to say
// comes while the first view is fetched and made.

let early: { line: WebSocket; heard: MessageEvent[]; closed: CloseEvent | null } | null = null

const connect = () => new WebSocket(location.origin.replace(/^http/, 'ws') + '/ws', keyProtocols())

// Who is not signed in has none; and one page has nothing that moves.
const NONE = /^\/(sign-in|set-up)\b|\/plain$/

/** Makes the first connection, and keeps what comes until openLine is called. */
export function openEarly(): void {
  if (NONE.test(location.pathname)) return
  const first = { line: connect(), heard: [] as MessageEvent[], closed: null as CloseEvent | null }
  first.line.onmessage = (ev) => first.heard.push(ev)
  first.line.onclose = (ev) => (first.closed = ev)
  early = first
}

/** A connection, the first of them from openEarly; it tells what came before once the caller listens. */
export function openLine(): SocketLike {
  const first = early
  early = null
  if (!first) return connect()
  const line: SocketLike = first.line
  queueMicrotask(() => {
    for (const ev of first.heard) line.onmessage?.(ev)
    if (first.closed) line.onclose?.(first.closed)
  })
  return line
}

import type { SocketLike } from './connection'
import { keyProtocols } from './pagekey'

// The first connection is opened before anything is drawn, so that the server's first frames arrive
// while the first view is fetched and rendered.

let early: { socket: WebSocket; messages: MessageEvent[]; closed: CloseEvent | null } | null = null

const connect = () => new WebSocket(location.origin.replace(/^http/, 'ws') + '/ws', keyProtocols())

// People who are not signed in have no connection, the set-up needs none, and a plain page shows nothing that changes.
const WITHOUT_SOCKET = /^\/(sign-in|set-up|welcome)\b|\/plain$/

/** Opens the first connection, and stores what arrives until openSocket is called. */
export function openEarly(): void {
  if (WITHOUT_SOCKET.test(location.pathname)) return
  const first = { socket: connect(), messages: [] as MessageEvent[], closed: null as CloseEvent | null }
  first.socket.onmessage = (ev) => first.messages.push(ev)
  first.socket.onclose = (ev) => (first.closed = ev)
  early = first
}

/**
 * Opens a connection, or returns the one of openEarly. That one passes on what arrived before, once
 * the caller has set its handlers.
 */
export function openSocket(): SocketLike {
  const first = early
  early = null
  if (!first) return connect()
  const socket: SocketLike = first.socket
  queueMicrotask(() => {
    for (const ev of first.messages) socket.onmessage?.(ev)
    if (first.closed) socket.onclose?.(first.closed)
  })
  return socket
}

import type { Status } from '@/state/status'
import { backoff, STABLE_MS } from './backoff'

/** SocketLike is the part of a WebSocket that this module uses. */
export interface SocketLike {
  onopen: ((ev: Event) => void) | null
  onmessage: ((ev: MessageEvent) => void) | null
  onclose: ((ev: CloseEvent) => void) | null
  send(text: string): void
  close(code?: number, reason?: string): void
}

interface Options<Frame extends { type: string }> {
  open(): SocketLike
  /** Receives every frame, in order. */
  onFrame(frame: Frame): void
  /** Called when hello arrives, before onFrame. Commands can be sent from then on. */
  onHello(frame: Frame): void
  onStatus(status: Status): void
  /** Called after the page was suspended. What it shows is stale, and it reconnects. */
  onSuspended?(): void
  /**
   * Checks, after a connection that closed before hello, whether the person is signed out. A
   * browser does not report why a connection failed.
   */
  signedOut(): Promise<boolean>
  ping(): object
  /** The protocol that this app speaks. */
  protocol: number
  closeCodes: { signedOut: number; oldVersion: number }
  random?: () => number
}

const PING_EVERY_MS = 15_000
const REPLY_MS = 5_000
// A server that accepts the connection and sends nothing counts as unreachable.
const HELLO_MS = 10_000
/** The time to reply for a server that may be unreachable, in ms. */
const OFFLINE_REPLY_MS = 250
const TICK_MS = 1_000
// Only a suspended page stops its timers for this long: those of a hidden page still run once a
// minute.
const SUSPENDED_MS = 75_000

/**
 * Connection keeps one WebSocket to the server open while it runs, and decides whether and when to
 * reconnect. It does not interpret frames.
 */
export class Connection<Frame extends { type: string }> {
  private socket: SocketLike | null = null
  private helloReceived = false
  private attempt = 0
  // When the server was last reachable, to show since when it is not.
  private lastReachable = Date.now()
  private retryTimer: ReturnType<typeof setTimeout> | undefined
  private silenceTimer: ReturnType<typeof setTimeout> | undefined
  private pingTimer: ReturnType<typeof setInterval> | undefined
  private stableTimer: ReturnType<typeof setTimeout> | undefined
  private tickTimer: ReturnType<typeof setInterval> | undefined
  private lastTick = Date.now()
  private running = false

  constructor(private readonly o: Options<Frame>) {}

  start(): void {
    if (this.running) return
    this.running = true
    this.attempt = 0
    this.lastReachable = this.lastTick = Date.now()
    this.tickTimer = setInterval(() => this.checkSuspended(), TICK_MS)
    this.connect()
  }

  stop(): void {
    this.running = false
    clearInterval(this.tickTimer)
    this.closeSocket()
    this.o.onStatus({ kind: 'stopped' })
  }

  /** Whether hello has arrived on the current connection. */
  get open(): boolean {
    return this.helloReceived
  }

  /**
   * Sends a message if there is a connection, and reports whether it did. Messages that must not be
   * lost belong in the outbox.
   */
  send(message: object): boolean {
    if (!this.helloReceived || !this.socket) return false
    this.socket.send(JSON.stringify(message))
    return true
  }

  /** Reconnects without waiting for the next attempt, at a person's request. */
  retryNow(): void {
    if (this.running && !this.socket) this.connect()
  }

  /** Checks the connection at once, because the page or the network is back. */
  wake(): void {
    if (!this.running || this.checkSuspended()) return
    if (this.helloReceived) this.probe()
    else this.retryNow()
  }

  /** Checks at once whether the server is still reachable, because the network seems to be lost. */
  networkLost(): void {
    clearTimeout(this.silenceTimer)
    this.silenceTimer = undefined
    this.probe(OFFLINE_REPLY_MS)
  }

  /** Reconnects if the page was suspended, because its connection may be dead, and reports whether it was. */
  private checkSuspended(): boolean {
    const before = this.lastTick
    this.lastTick = Date.now()
    if (!this.running || this.lastTick - before <= SUSPENDED_MS) return false
    if (this.helloReceived) this.lastReachable = before
    this.attempt = 0
    this.o.onSuspended?.()
    this.connect()
    return true
  }

  private connect(): void {
    this.closeSocket()
    this.o.onStatus({ kind: 'connecting', since: this.lastReachable })
    const socket = this.o.open()
    this.socket = socket
    this.silenceTimer = setTimeout(() => this.handleLoss(socket, 0), HELLO_MS)
    socket.onmessage = (ev) => {
      if (this.socket === socket) this.receive(socket, ev.data)
    }
    socket.onclose = (ev) => {
      if (this.socket === socket) this.handleLoss(socket, ev.code)
    }
  }

  private receive(socket: SocketLike, data: unknown): void {
    let frame: Frame
    try {
      frame = JSON.parse(String(data)) as Frame
    } catch {
      this.handleLoss(socket, 0)
      return
    }
    if (frame.type === 'hello') {
      if ((frame as { protocol?: number }).protocol !== this.o.protocol) {
        this.handleLoss(socket, this.o.closeCodes.oldVersion)
        return
      }
      this.helloReceived = true
      this.stableTimer = setTimeout(() => (this.attempt = 0), STABLE_MS)
      this.pingTimer = setInterval(() => this.probe(), PING_EVERY_MS)
      this.o.onStatus({ kind: 'open' })
      this.o.onHello(frame)
    }
    if (this.helloReceived) {
      clearTimeout(this.silenceTimer)
      this.silenceTimer = undefined
    }
    this.o.onFrame(frame)
  }

  private probe(replyWithin = REPLY_MS): void {
    const socket = this.socket
    if (!socket || !this.helloReceived) return
    socket.send(JSON.stringify(this.o.ping()))
    this.silenceTimer ??= setTimeout(() => this.handleLoss(socket, 0), replyWithin)
  }

  private handleLoss(socket: SocketLike, code: number): void {
    if (this.socket !== socket) return
    const wasOpen = this.helloReceived
    if (wasOpen) this.lastReachable = Date.now()
    this.closeSocket()
    if (!this.running) return
    if (code === this.o.closeCodes.signedOut) return this.stopWith({ kind: 'signed_out' })
    if (code === this.o.closeCodes.oldVersion) return this.stopWith({ kind: 'outdated' })
    const wait = backoff(this.attempt++, this.o.random ?? Math.random)
    this.o.onStatus({ kind: 'waiting', since: this.lastReachable, retryAt: Date.now() + wait })
    this.retryTimer = setTimeout(() => this.connect(), wait)
    if (wasOpen) return
    const attempt = this.attempt
    void this.o.signedOut().then((yes) => {
      if (yes && this.running && !this.helloReceived && this.attempt >= attempt) this.stopWith({ kind: 'signed_out' })
    })
  }

  private stopWith(status: Status): void {
    this.running = false
    clearInterval(this.tickTimer)
    this.closeSocket()
    this.o.onStatus(status)
  }

  private closeSocket(): void {
    clearTimeout(this.retryTimer)
    clearTimeout(this.silenceTimer)
    clearTimeout(this.stableTimer)
    clearInterval(this.pingTimer)
    this.silenceTimer = undefined
    this.helloReceived = false
    const socket = this.socket
    this.socket = null
    if (!socket) return
    socket.onmessage = null
    socket.onclose = null
    socket.close()
  }
}

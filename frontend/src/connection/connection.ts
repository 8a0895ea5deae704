import type { Status } from '@/state/status'
import { backoff, STABLE_MS } from './backoff'

/** What this module needs of a WebSocket. */
export interface SocketLike {
  onopen: ((ev: Event) => void) | null
  onmessage: ((ev: MessageEvent) => void) | null
  onclose: ((ev: CloseEvent) => void) | null
  send(text: string): void
  close(code?: number, reason?: string): void
}

interface Options<Frame extends { type: string }> {
  open(): SocketLike
  /** Every frame, in order. */
  onFrame(frame: Frame): void
  /** The server said hello: commands may be sent. Called before onFrame. */
  onHello(frame: Frame): void
  onStatus(status: Status): void
  /** The page slept, and what it shows is from before; a new connection is on its way. */
  onSlept?(): void
  /** Asked after a connection that never said hello; a browser hides why. */
  signedOut(): Promise<boolean>
  ping(): object
  /** The protocol that this app speaks. */
  protocol: number
  closeCodes: { signedOut: number; oldVersion: number }
  random?: () => number
}

const PING_EVERY_MS = 15_000
const SILENCE_MS = 5_000
// A server that takes the connection and says nothing is as good as gone.
const HELLO_MS = 10_000
/** How long a server that may be out of reach has to answer. */
const DOUBT_MS = 250
const TICK_MS = 1_000
// Nothing else stops the timers of a page for so long: those of one that nobody
// sees still run once a minute.
const SLEPT_MS = 75_000

/**
 * A Connection keeps one WebSocket to the server for as long as it runs. It
 * knows when to try again and when not to. It does not interpret frames.
 */
export class Connection<Frame extends { type: string }> {
  private line: SocketLike | null = null
  private greeted = false
  private attempt = 0
  // When the server was last there; a time line for "gone for".
  private since = Date.now()
  private retry: ReturnType<typeof setTimeout> | undefined
  private silence: ReturnType<typeof setTimeout> | undefined
  private pinger: ReturnType<typeof setInterval> | undefined
  private stable: ReturnType<typeof setTimeout> | undefined
  private ticker: ReturnType<typeof setInterval> | undefined
  private ticked = Date.now()
  private running = false

  constructor(private readonly o: Options<Frame>) {}

  start(): void {
    if (this.running) return
    this.running = true
    this.attempt = 0
    this.since = this.ticked = Date.now()
    this.ticker = setInterval(() => this.tick(), TICK_MS)
    this.connect()
  }

  stop(): void {
    this.running = false
    clearInterval(this.ticker)
    this.drop()
    this.o.onStatus({ kind: 'stopped' })
  }

  /** Whether the server has said hello on the present connection. */
  get open(): boolean {
    return this.greeted
  }

  /** Sends now or not at all: what must not be lost lies in the outbox. */
  send(message: object): boolean {
    if (!this.greeted || !this.line) return false
    this.line.send(JSON.stringify(message))
    return true
  }

  /** Connects at once when waiting; called by a person. */
  retryNow(): void {
    if (this.running && !this.line) this.connect()
  }

  /** The page woke up or the network came back: find out at once what holds. */
  wake(): void {
    if (!this.running || this.tick()) return
    if (this.greeted) this.probe()
    else this.retryNow()
  }

  /** The network seems to be gone: whether the server is, too, is known at once. */
  doubt(): void {
    clearTimeout(this.silence)
    this.silence = undefined
    this.probe(DOUBT_MS)
  }

  /** Looks whether the page slept, and then begins anew: its connection may be long dead. */
  private tick(): boolean {
    const before = this.ticked
    this.ticked = Date.now()
    if (!this.running || this.ticked - before <= SLEPT_MS) return false
    if (this.greeted) this.since = before
    this.attempt = 0
    this.o.onSlept?.()
    this.connect()
    return true
  }

  private connect(): void {
    this.drop()
    this.o.onStatus({ kind: 'connecting', since: this.since })
    const line = this.o.open()
    this.line = line
    this.silence = setTimeout(() => this.lost(line, 0), HELLO_MS)
    line.onmessage = (ev) => {
      if (this.line === line) this.receive(line, ev.data)
    }
    line.onclose = (ev) => {
      if (this.line === line) this.lost(line, ev.code)
    }
  }

  private receive(line: SocketLike, data: unknown): void {
    let frame: Frame
    try {
      frame = JSON.parse(String(data)) as Frame
    } catch {
      this.lost(line, 0)
      return
    }
    if (frame.type === 'hello') {
      if ((frame as { protocol?: number }).protocol !== this.o.protocol) {
        this.lost(line, this.o.closeCodes.oldVersion)
        return
      }
      this.greeted = true
      this.stable = setTimeout(() => (this.attempt = 0), STABLE_MS)
      this.pinger = setInterval(() => this.probe(), PING_EVERY_MS)
      this.o.onStatus({ kind: 'open' })
      this.o.onHello(frame)
    }
    if (this.greeted) {
      clearTimeout(this.silence)
      this.silence = undefined
    }
    this.o.onFrame(frame)
  }

  private probe(patience = SILENCE_MS): void {
    const line = this.line
    if (!line || !this.greeted) return
    line.send(JSON.stringify(this.o.ping()))
    this.silence ??= setTimeout(() => this.lost(line, 0), patience)
  }

  private lost(line: SocketLike, code: number): void {
    if (this.line !== line) return
    const greeted = this.greeted
    if (greeted) this.since = Date.now()
    this.drop()
    if (!this.running) return
    if (code === this.o.closeCodes.signedOut) return this.end({ kind: 'signed_out' })
    if (code === this.o.closeCodes.oldVersion) return this.end({ kind: 'outdated' })
    const wait = backoff(this.attempt++, this.o.random ?? Math.random)
    this.o.onStatus({ kind: 'waiting', since: this.since, retryAt: Date.now() + wait })
    this.retry = setTimeout(() => this.connect(), wait)
    if (greeted) return
    const attempt = this.attempt
    void this.o.signedOut().then((yes) => {
      if (yes && this.running && !this.greeted && this.attempt >= attempt) this.end({ kind: 'signed_out' })
    })
  }

  private end(status: Status): void {
    this.running = false
    clearInterval(this.ticker)
    this.drop()
    this.o.onStatus(status)
  }

  private drop(): void {
    clearTimeout(this.retry)
    clearTimeout(this.silence)
    clearTimeout(this.stable)
    clearInterval(this.pinger)
    this.silence = undefined
    this.greeted = false
    const line = this.line
    this.line = null
    if (!line) return
    line.onmessage = null
    line.onclose = null
    line.close()
  }
}

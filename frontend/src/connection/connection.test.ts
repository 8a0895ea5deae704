// @vitest-environment node
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { backoff } from './backoff'
import type { Status } from '@/state/status'
import { Connection, type SocketLike } from './connection'

class FakeLine implements SocketLike {
  onopen = null
  onmessage: ((ev: MessageEvent) => void) | null = null
  onclose: ((ev: CloseEvent) => void) | null = null
  sent: { type: string }[] = []
  closed = false
  send(text: string) {
    this.sent.push(JSON.parse(text))
  }
  close() {
    this.closed = true
  }
  receive(frame: object) {
    this.onmessage?.({ data: JSON.stringify(frame) } as MessageEvent)
  }
  hello(protocol = 1) {
    this.receive({ type: 'hello', protocol })
  }
  end(code: number) {
    this.onclose?.({ code } as CloseEvent)
  }
}

function world() {
  const lines: FakeLine[] = []
  const statuses: Status[] = []
  const frames: string[] = []
  let hellos = 0
  let slept = 0
  const control = { signedOut: false }
  const connection = new Connection<{ type: string }>({
    open() {
      const line = new FakeLine()
      lines.push(line)
      return line
    },
    onFrame: (f) => frames.push(f.type),
    onHello: () => hellos++,
    onStatus: (s) => statuses.push(s),
    onSuspended: () => slept++,
    signedOut: () => Promise.resolve(control.signedOut),
    ping: () => ({ type: 'ping' }),
    protocol: 1,
    closeCodes: { signedOut: 4001, oldVersion: 4010 },
    random: () => 1,
  })
  return {
    connection,
    lines,
    statuses,
    frames,
    control,
    line: () => lines.at(-1)!,
    status: () => statuses.at(-1)!.kind,
    hellos: () => hellos,
    slept: () => slept,
  }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('the delay grows to its limit, with jitter over all of it', () => {
  expect([0, 1, 2, 3, 20].map((n) => backoff(n, () => 1))).toEqual([250, 500, 1000, 2000, 15_000])
  expect(backoff(9, () => 0)).toBe(0)
})

describe('Connection', () => {
  test('is open after the hello, not before', () => {
    const w = world()
    w.connection.start()
    expect(w.status()).toBe('connecting')
    expect(w.connection.send({ type: 'x' })).toBe(false)
    w.line().hello()
    expect(w.status()).toBe('open')
    expect(w.hellos()).toBe(1)
    expect(w.connection.send({ type: 'x' })).toBe(true)
    w.connection.stop()
  })

  test('reconnects after a loss, with growing delays', () => {
    const w = world()
    w.connection.start()
    for (const wait of [250, 500, 1000]) {
      w.line().end(1006)
      expect(w.status()).toBe('waiting')
      const before = w.lines.length
      vi.advanceTimersByTime(wait - 1)
      expect(w.lines).toHaveLength(before)
      vi.advanceTimersByTime(1)
      expect(w.lines).toHaveLength(before + 1)
    }
    w.connection.stop()
  })

  test('resets the delay after a connection that lasted', () => {
    const w = world()
    w.connection.start()
    w.line().end(1006)
    vi.advanceTimersByTime(250)
    w.line().hello()
    vi.advanceTimersByTime(10_000)
    w.line().end(1001)
    vi.advanceTimersByTime(250)
    expect(w.status()).toBe('connecting')
    w.connection.stop()
  })

  test('treats a silent server as lost', () => {
    const w = world()
    w.connection.start()
    w.line().hello()
    vi.advanceTimersByTime(15_000)
    expect(w.line().sent).toEqual([{ type: 'ping' }])
    vi.advanceTimersByTime(4_999)
    expect(w.status()).toBe('open')
    vi.advanceTimersByTime(1)
    expect(w.status()).toBe('waiting')
    expect(w.line().closed).toBe(true)
    w.connection.stop()
  })

  test('treats any frame as a sign of life', () => {
    const w = world()
    w.connection.start()
    w.line().hello()
    vi.advanceTimersByTime(15_000)
    w.line().receive({ type: 'process_state' })
    vi.advanceTimersByTime(9_000)
    expect(w.status()).toBe('open')
    w.connection.stop()
  })

  test('gives up a connection on which the server sends nothing', () => {
    const w = world()
    w.connection.start()
    vi.advanceTimersByTime(10_000)
    expect(w.status()).toBe('waiting')
    w.connection.stop()
  })

  test('probes the connection when the device wakes up', () => {
    const w = world()
    w.connection.start()
    w.line().hello()
    w.connection.wake()
    expect(w.line().sent).toEqual([{ type: 'ping' }])
    w.line().end(1006)
    w.connection.wake()
    expect(w.status()).toBe('connecting')
    w.connection.stop()
  })

  test('stops for good when signed out or outdated', () => {
    for (const [code, kind] of [
      [4001, 'signed_out'],
      [4010, 'outdated'],
    ] as const) {
      const w = world()
      w.connection.start()
      w.line().hello()
      w.line().end(code)
      vi.advanceTimersByTime(120_000)
      expect(w.status()).toBe(kind)
      expect(w.lines).toHaveLength(1)
    }
  })

  test('treats another protocol version as outdated', () => {
    const w = world()
    w.connection.start()
    w.line().hello(2)
    expect(w.status()).toBe('outdated')
    expect(w.frames).toEqual([])
  })

  test('asks for the reason of a refused upgrade, which the browser does not report', async () => {
    const w = world()
    w.control.signedOut = true
    w.connection.start()
    w.line().end(1006)
    await vi.advanceTimersByTimeAsync(0)
    expect(w.status()).toBe('signed_out')
  })

  test('ignores frames of an old connection', () => {
    const w = world()
    w.connection.start()
    const old = w.line()
    old.hello()
    const receive = old.onmessage!
    old.end(1006)
    vi.advanceTimersByTime(250)
    receive({ data: '{"type":"process_state"}' } as MessageEvent)
    expect(w.frames).toEqual(['hello'])
    w.connection.stop()
  })

  test('an invalid frame ends the connection, not the page', () => {
    const w = world()
    w.connection.start()
    w.line().onmessage?.({ data: '{' } as MessageEvent)
    expect(w.status()).toBe('waiting')
    w.connection.stop()
  })

  test('leaves no timer running after stop', () => {
    const w = world()
    w.connection.start()
    w.line().hello()
    w.connection.stop()
    expect(vi.getTimerCount()).toBe(0)
  })
})

test('reconnects and reports it after a sleep, but not after the throttled timers of a hidden page', () => {
  const w = world()
  w.connection.start()
  w.line().hello()
  const first = w.line()
  vi.setSystemTime(Date.now() + 61_000)
  vi.advanceTimersByTime(1_000)
  expect(w.slept()).toBe(0)

  vi.setSystemTime(Date.now() + 8 * 3_600_000)
  vi.advanceTimersByTime(1_000)
  expect(w.slept()).toBe(1)
  expect(first.closed).toBe(true)
  expect(w.status()).toBe('connecting')
  w.line().hello()
  expect(w.status()).toBe('open')
  expect(w.lines).toHaveLength(2)

  // Whichever comes first, the timer or the sign that the page is seen again.
  vi.setSystemTime(Date.now() + 8 * 3_600_000)
  w.connection.wake()
  expect(w.slept()).toBe(2)
  expect(w.lines).toHaveLength(3)
  w.connection.stop()
})

test('probes the server as soon as the network goes, and drops a silent connection', () => {
  const w = world()
  w.connection.start()
  w.line().hello()
  w.connection.networkLost()
  w.line().receive({ type: 'ack' })
  vi.advanceTimersByTime(1_000)
  expect(w.status()).toBe('open')
  w.connection.networkLost()
  vi.advanceTimersByTime(250)
  expect(w.status()).toBe('waiting')
  w.connection.stop()
})

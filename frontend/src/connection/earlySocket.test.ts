import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openEarly, openSocket } from './earlySocket'

class FakeSocket {
  static all: FakeSocket[] = []
  onmessage: ((ev: MessageEvent) => void) | null = null
  onclose: ((ev: CloseEvent) => void) | null = null
  constructor(readonly url: string) {
    FakeSocket.all.push(this)
  }
}

beforeEach(() => {
  FakeSocket.all = []
  vi.stubGlobal('WebSocket', FakeSocket)
  history.replaceState(null, '', '/sessions/1')
})
afterEach(() => {
  history.replaceState(null, '', '/')
  vi.unstubAllGlobals()
})

const said = (data: string) => new MessageEvent('message', { data })

test('buffers early frames, delivers them in order, and then delivers directly', async () => {
  openEarly()
  const [socket] = FakeSocket.all
  socket!.onmessage!(said('hello'))
  socket!.onmessage!(said('state'))
  const heard: unknown[] = []
  const line = openSocket()
  expect(line).toBe(socket)
  line.onmessage = (ev) => heard.push(ev.data)
  expect(heard).toEqual([])
  await Promise.resolve()
  expect(heard).toEqual(['hello', 'state'])
  socket!.onmessage!(said('more'))
  expect(heard).toEqual(['hello', 'state', 'more'])
  expect(openSocket()).not.toBe(socket)
})

test('reports an earlier close, and nothing after the caller has left', async () => {
  openEarly()
  FakeSocket.all[0]!.onmessage!(said('hello'))
  FakeSocket.all[0]!.onclose!(new CloseEvent('close', { code: 4001 }))
  const line = openSocket()
  const codes: number[] = []
  const heard = vi.fn<() => void>()
  line.onmessage = () => {
    heard()
    line.onmessage = line.onclose = null
  }
  line.onclose = (ev) => codes.push(ev.code)
  await Promise.resolve()
  expect(heard).toHaveBeenCalledOnce()
  expect(codes).toEqual([])
})

test('does not connect before sign-in or on the offline page', () => {
  for (const path of ['/sign-in', '/sign-in/oidc', '/set-up', '/welcome', '/sessions/1/plain']) {
    history.replaceState(null, '', path)
    openEarly()
  }
  expect(FakeSocket.all).toHaveLength(0)
})

// @vitest-environment node
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

// A click on a notification, as the service worker handles it.

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const source = readFileSync(join(import.meta.dirname, '../../public/push.js'), 'utf8')

class Channel {
  port1: { onmessage?: () => void } = {}
  port2 = { postMessage: () => this.port1.onmessage?.() }
}

interface Tab {
  focused: boolean
  /** What happened to it. */
  log: string[]
  postMessage(message: { type: string; path: string }, ports?: Channel['port2'][]): void
  focus(): Promise<Tab>
  navigate(to: string): Promise<Tab | null>
}

/** A tab. The app in it replies after some time, in ms; null: it does not, because the page is another one. */
function tab(replies: number | null, { focused = true, controlled = true } = {}): Tab {
  const log: string[] = []
  const it: Tab = {
    focused,
    log,
    postMessage({ type, path }, [port] = []) {
      if (replies === null) return
      setTimeout(() => (log.push(`${type} ${path}`), port?.postMessage()), replies)
    },
    focus: async () => (log.push('focus'), it),
    async navigate(to) {
      if (!controlled) throw new TypeError('This service worker is not the active one.')
      log.push(`navigate ${to}`)
      return it
    },
  }
  return it
}

/** Clicks on a notification, and returns the windows that were opened. */
async function click(tabs: Tab[]): Promise<string[]> {
  const opened: string[] = []
  const listeners = new Map<string, (ev: object) => void>()
  runInNewContext(source, {
    URL,
    MessageChannel: Channel,
    setTimeout: (done: () => void, ms: number) => setTimeout(done, ms),
    addEventListener: (type: string, listener: (ev: object) => void) => listeners.set(type, listener),
    location: { origin: 'https://sayso.test' },
    navigator: { userAgent: '' },
    clients: { matchAll: async () => tabs, openWindow: async (to: string) => opened.push(to) },
  })
  let done: Promise<unknown> | undefined
  listeners.get('notificationclick')!({
    notification: { close() {}, data: { path: '/sessions/s?request=r' } },
    waitUntil: (all: Promise<unknown>) => (done = all),
  })
  await vi.advanceTimersByTimeAsync(2_000)
  await done
  return opened
}

test('opens the request in a tab that shows the app', async () => {
  const behind = tab(50, { focused: false })
  const front = tab(50)
  expect(await click([behind, front])).toEqual([])
  expect(front.log).toEqual(['open /sessions/s?request=r', 'focus'])
  expect(behind.log).toEqual([])
})

test('navigates a tab that shows another page, such as the one to sign in', async () => {
  const other = tab(null)
  expect(await click([other])).toEqual([])
  expect(other.log).toEqual(['navigate /sessions/s?request=r', 'focus'])
})

test('opens a window if there is no tab, or none that it may navigate', async () => {
  expect(await click([])).toEqual(['/sessions/s?request=r'])
  const foreign = tab(null, { controlled: false })
  expect(await click([foreign])).toEqual(['/sessions/s?request=r'])
  // A browser would refuse the window after a focus.
  expect(foreign.log).toEqual([])
})

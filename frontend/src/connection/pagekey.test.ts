import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { accounts } from '@/account/rest'
import { openSocket } from './earlySocket'
import { canStore, forgetPageKey, isBeforeKeys, keepPageKey, keyHeaders, keyProtocols, pageKey } from './pagekey'
import { file, rest, save } from './rest'

const KEY = 'k'.repeat(64)
const asked: { path: string; init: RequestInit }[] = []
const me = { user: { name: 'ada', role: 'admin' }, user_id: 'a', has_password: true, set_up: false }

beforeEach(() => {
  localStorage.clear()
  forgetPageKey()
  localStorage.clear()
  asked.length = 0
  vi.stubGlobal(
    'fetch',
    vi.fn(async (path: string, init: RequestInit) => {
      asked.push({ path, init })
      return new Response(JSON.stringify(path.startsWith('/api/login') ? { ...me, page_key: KEY } : me))
    }),
  )
})
afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

describe('every way to sign in stores the key that later requests send', () => {
  test.each([
    ['a password or a link', () => rest.login({ token: 'x' })],
    ['a passkey', () => accounts.passkeySignIn({ credential: {} })],
    ['an identity provider', () => accounts.oidcSignIn({ code: 'c', state: 's' })],
  ])('%s', async (_, signIn) => {
    expect(keyHeaders()).toEqual({})
    await signIn()
    expect(localStorage.getItem('sayso:page-key')).toBe(KEY)
    await accounts.me()
    await file('/api/attachments/a')
    for (const { init } of asked.slice(1)) expect(init.headers).toMatchObject({ 'X-Sayso-Page-Key': KEY })
    const protocols: unknown[] = []
    vi.stubGlobal(
      'WebSocket',
      class {
        constructor(
          readonly url: string,
          given: unknown,
        ) {
          protocols.push(url, given)
        }
      },
    )
    openSocket()
    expect(protocols).toEqual(['ws://localhost:3000/ws', ['sayso', `sayso.page-key.${KEY}`]])
    expect(asked.every(({ path }) => !path.includes(KEY))).toBe(true)
  })
})

test('a sign-in in another tab passes its key to this one, and signing out deletes it', async () => {
  keepPageKey('old')
  localStorage.setItem('sayso:page-key', 'new')
  expect(pageKey()).toBe('new')
  await rest.logout()
  expect(pageKey()).toBe('')
  expect(keyProtocols()).toEqual(['sayso'])
  expect(isBeforeKeys()).toBe(false)
})

test('without storage the page keeps the key in memory, and says that it cannot store it', () => {
  const denied = () => {
    throw new DOMException('denied', 'SecurityError')
  }
  expect(canStore()).toBe(true)
  vi.spyOn(Storage.prototype, 'setItem').mockImplementation(denied)
  vi.spyOn(Storage.prototype, 'getItem').mockImplementation(denied)
  expect(canStore()).toBe(false)
  keepPageKey(KEY)
  expect(pageKey()).toBe(KEY)
})

test('a browser that signed in before keys existed is told why it must sign in again', () => {
  expect(isBeforeKeys()).toBe(false)
  localStorage.setItem('sayso:appearance', 'dark')
  expect(isBeforeKeys()).toBe(true)
})

test('a download is saved and never displayed, so an attachment cannot run as one of our pages', async () => {
  const blobs: Blob[] = []
  vi.stubGlobal(
    'URL',
    Object.assign(URL, { createObjectURL: (b: Blob) => (blobs.push(b), 'blob:x'), revokeObjectURL: () => {} }),
  )
  vi.stubGlobal('fetch', async () => new Response('<script>1</script>', { headers: { 'Content-Type': 'text/html' } }))
  const clicked = vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(() => {})
  await save('/api/attachments/a', 'a.html')
  expect(blobs.map((b) => b.type)).toEqual(['application/octet-stream'])
  expect(clicked.mock.contexts.map((a) => (a as HTMLAnchorElement).download)).toEqual(['a.html'])
})

// What a page shows beside the cookie of its sign-in. A browser sends the cookie to
// every port of a host; local storage is of one origin alone.
const KEY = 'sayso:page-key'
const HEADER = 'X-Sayso-Page-Key'
const CACHE = 'sayso-page-key'

// Where nothing can be stored, the sign-in lasts as long as the page.
let here = ''

/** The key of this sign-in, '' when there is none. */
export function pageKey(): string {
  try {
    return localStorage.getItem(KEY) || here
  } catch {
    return here
  }
}

/** Keeps the key that came with a sign-in, for this page and every other of this origin. */
export function keepPageKey(key: string): void {
  here = key
  try {
    localStorage.setItem(KEY, key)
  } catch {
    // See canStore, of which the person is told.
  }
  if (navigator.serviceWorker?.controller) void sharePageKey(key)
}

export function forgetPageKey(): void {
  here = ''
  try {
    localStorage.setItem(KEY, '') // who comes back has been told
  } catch {
    // It was never there.
  }
  void sharePageKey('')
}

/** Whether somebody was signed in here before sign-ins had keys. */
export function isBeforeKeys(): boolean {
  try {
    return localStorage.getItem(KEY) === null && Object.keys(localStorage).some((name) => name.startsWith('sayso'))
  } catch {
    return false
  }
}

/** Whether this browser keeps anything for sayso: without, a reload signs out. */
export function canStore(): boolean {
  try {
    localStorage.setItem('sayso:probe', '')
    localStorage.removeItem('sayso:probe')
    return true
  } catch {
    return false
  }
}

/** The headers of a request of ours. */
export function keyHeaders(): Record<string, string> {
  const key = pageKey()
  return key ? { [HEADER]: key } : {}
}

/** The subprotocols of a WebSocket of ours; the server answers with the first. */
export function keyProtocols(): string[] {
  const key = pageKey()
  return key ? ['sayso', `sayso.page-key.${key}`] : ['sayso']
}

/** Gives the key to the worker that shows alerts, which sees no local storage; '' takes it away. */
export async function sharePageKey(key = pageKey()): Promise<void> {
  try {
    if (!key) await caches.delete(CACHE)
    else await (await caches.open(CACHE)).put('/page-key', new Response(key))
  } catch {
    // Where there are no caches, there is no worker.
  }
}

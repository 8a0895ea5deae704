// Each request proves with this key that it comes from a page of this origin. Browsers send cookies
// to every port of a host, but local storage belongs to one origin.
const KEY = 'sayso:page-key'
const HEADER = 'X-Sayso-Page-Key'
const CACHE = 'sayso-page-key'

// If nothing can be stored, the sign-in lasts as long as the page.
let here = ''

/** Returns the key of this sign-in, '' if there is none. */
export function pageKey(): string {
  try {
    return localStorage.getItem(KEY) || here
  } catch {
    return here
  }
}

/** Stores the key of a sign-in for this page and all others of this origin. */
export function keepPageKey(key: string): void {
  clearCaches()
  here = key
  try {
    localStorage.setItem(KEY, key)
  } catch {
    // The sign-in page warns about this; see canStore.
  }
  if (navigator.serviceWorker?.controller) void sharePageKey(key)
}

export function forgetPageKey(): void {
  here = ''
  try {
    localStorage.setItem(KEY, '') // unlike a missing key, this is no sign-in from before keys existed
  } catch {
    // It was never stored.
  }
  void sharePageKey('')
}

/** Deletes the offline page and shared content from the caches: they belong to the person who was signed in. */
export function clearCaches(): void {
  for (const name of ['sayso-last', 'sayso-share']) void globalThis.caches?.delete(name).catch(() => null)
}

/** Reports whether somebody signed in here before sign-ins had keys. */
export function isBeforeKeys(): boolean {
  try {
    return localStorage.getItem(KEY) === null && Object.keys(localStorage).some((name) => name.startsWith('sayso'))
  } catch {
    return false
  }
}

/** Reports whether this browser stores data for sayso. If not, a reload signs the person out. */
export function canStore(): boolean {
  try {
    localStorage.setItem('sayso:probe', '')
    localStorage.removeItem('sayso:probe')
    return true
  } catch {
    return false
  }
}

/** Returns the header with the key, for requests to the server. */
export function keyHeaders(): Record<string, string> {
  const key = pageKey()
  return key ? { [HEADER]: key } : {}
}

/** Returns the subprotocols for the WebSocket; the server selects the first. */
export function keyProtocols(): string[] {
  const key = pageKey()
  return key ? ['sayso', `sayso.page-key.${key}`] : ['sayso']
}

/**
 * Passes the key to the service worker that shows alerts, which has no access to local storage; ''
 * removes it.
 */
export async function sharePageKey(key = pageKey()): Promise<void> {
  try {
    if (!key) await caches.delete(CACHE)
    else await (await caches.open(CACHE)).put('/page-key', new Response(key))
  } catch {
    // A browser without caches has no service worker.
  }
}

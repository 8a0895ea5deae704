import { sharePageKey } from '@/connection/pagekey'
import type { AlertTargetCreate } from '@/wire/messages.gen'

const WORKER = '/push.js'

/** Reports whether this browser can show notifications and is allowed to. */
export function pushState(): 'unable' | 'denied' | 'able' {
  if (!('serviceWorker' in navigator) || !('PushManager' in window) || !('Notification' in window)) return 'unable'
  return Notification.permission === 'denied' ? 'denied' : 'able'
}

let policy: Pick<TrustedTypePolicy, 'createScriptURL'> | undefined

// The Content-Security-Policy allows only this address for a worker.
export function register(): Promise<ServiceWorkerRegistration> {
  policy ??= window.trustedTypes?.createPolicy('sayso-push', {
    createScriptURL: (url: string) => (url === WORKER ? url : ''),
  })
  return navigator.serviceWorker.register((policy?.createScriptURL(WORKER) ?? WORKER) as string, { scope: '/' })
}

/** Ends notifications in this browser, for example when its person signs out. */
export async function unsubscribe(): Promise<void> {
  const registration = await navigator.serviceWorker?.getRegistration('/')
  await (await registration?.pushManager?.getSubscription())?.unsubscribe()
}

/**
 * Returns the subscription that the server needs to notify this browser; null if the person does not allow
 * it.
 */
export async function subscribe(key: string): Promise<AlertTargetCreate | null> {
  if ((await Notification.requestPermission()) !== 'granted') return null
  await register()
  await sharePageKey()
  const { pushManager } = await navigator.serviceWorker.ready
  // A subscription with another key, such as one of an earlier server, must be removed first.
  const old = await pushManager.getSubscription()
  const wanted = bytes(key)
  const had = old?.options.applicationServerKey
  if (old && (!had || !same(new Uint8Array(had), wanted))) await old.unsubscribe()
  const made = (await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: wanted })).toJSON()
  return { way: 'push', url: made.endpoint!, p256dh: made.keys!['p256dh']!, auth: made.keys!['auth']! }
}

const same = (a: Uint8Array, b: Uint8Array) => a.length === b.length && a.every((x, i) => x === b[i])

function bytes(base64url: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64url.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
}

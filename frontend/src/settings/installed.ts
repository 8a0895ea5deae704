import { watch } from 'vue'
import { owner } from '@/connection/owner'
import { language } from '@/i18n'
import { groupOf } from '@/session/groups'
import { useSessions } from '@/state/sessions'
import { register } from './push'

const MAX_KEPT = 20

let running = false

/**
 * keepInstalled runs what only the installed app needs: the service worker, the badge on its icon, and the
 * offline page, which is stored whenever the app is left.
 */
export function keepInstalled(): void {
  if (running) return
  running = true
  const store = useSessions()
  if (navigator.serviceWorker && matchMedia('(display-mode: standalone)').matches) register().catch(() => null)
  watch(
    () => store.requests.length,
    (n) => void (n > 0 ? navigator.setAppBadge?.(n) : navigator.clearAppBadge?.())?.catch(() => null),
    { immediate: true },
  )
  const keep = () => {
    if (!document.hidden || !navigator.serviceWorker?.controller || owner() === '' || !store.state.complete) return
    const sessions = store.all
      .filter((s) => s.state !== 'dead')
      .toSorted((a, b) => b.pending_requests.length - a.pending_requests.length || b.updated_at - a.updated_at)
      .slice(0, MAX_KEPT)
      .map((s) => ({ title: s.title, group: groupOf(s), waiting: s.pending_requests.length }))
    const known = { at: Date.now(), language: language.value, sessions }
    caches.open('sayso-last').then(
      (cache) => cache.put('/last', Response.json(known)),
      () => null,
    )
  }
  document.addEventListener('visibilitychange', keep)
}

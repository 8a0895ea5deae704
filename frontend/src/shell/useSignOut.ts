import { ref, watch, type Ref } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import { setOwner } from '@/connection/owner'
import { clearCaches } from '@/connection/pagekey'
import { rest } from '@/connection/rest'
import type { Socket } from '@/connection/socket'
import { useSessions } from '@/state/sessions'

/**
 * Ends notifications in this browser: the next person must not see those of this one. A page can have a service
 * worker that does not control it, for example after a forced reload.
 */
async function endNotifications(): Promise<void> {
  try {
    if (await navigator.serviceWorker?.getRegistration('/')) await (await import('@/settings/push')).unsubscribe()
  } catch {
    // The push service is unreachable.
  }
}

/**
 * useSignOut opens the sign-in page when the server no longer knows the person, and signs out on request.
 * leave asks first if something was not sent.
 */
export function useSignOut(socket: Pick<Socket, 'stop'>): {
  /** The number of unsent commands; null while the question is not shown. */
  unsent: Ref<number | null>
  leave: (sure?: boolean) => Promise<void>
  signedOut: (elsewhere?: boolean) => void
} {
  const store = useSessions()
  const route = useRoute()
  const router = useRouter()

  function signedOut(elsewhere = false) {
    socket.stop()
    // Whoever signs in next must not see what this person saw.
    store.forget()
    void endNotifications()
    // Until the server reports the next person, stored data belongs to nobody.
    setOwner('')
    clearCaches()
    void navigator.clearAppBadge?.()
    void router.replace({
      path: '/sign-in',
      query: route.path === '/' ? {} : { next: route.path },
      state: { elsewhere },
    })
  }
  watch(
    () => store.status.kind,
    (kind) => kind === 'signed_out' && signedOut(store.state.user !== null),
  )

  const unsent = ref<number | null>(null)
  async function leave(sure = false) {
    if (!sure && store.outbox.length > 0) {
      unsent.value = store.outbox.length
      return
    }
    unsent.value = null
    // Before the page says that the person is signed out.
    await endNotifications()
    await rest.logout().catch(() => null)
    signedOut()
  }

  return { unsent, leave, signedOut }
}

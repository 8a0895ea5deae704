import { onScopeDispose, ref, shallowRef, watch, watchEffect, type Ref } from 'vue'
import { useSessions } from '@/state/sessions'
import { armedFrom } from './decide'

// When the window was last come back to. One listener for all cards.
const focused = shallowRef<number | null>(null)
const back = () => (focused.value = Date.now())
addEventListener('focus', back)
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) back()
})

/**
 * Whether a card takes decisions yet, and a way to start over, for a card that
 * is handed the focus while a key may still be on its way.
 */
export function useArming(): { armed: Readonly<Ref<boolean>>; rearm: () => void } {
  const shown = ref(Date.now())
  const armed = ref(false)
  const store = useSessions()
  let timer: ReturnType<typeof setTimeout> | undefined
  watchEffect(
    () => {
      clearTimeout(timer)
      const wait = armedFrom(shown.value, focused.value) - Date.now()
      // After a sleep it shows what was; what is comes in a moment, as if just shown.
      armed.value = wait <= 0 && !store.stale
      if (wait > 0 && !store.stale) timer = setTimeout(() => (armed.value = true), wait)
    },
    { flush: 'sync' },
  )
  watch(
    () => store.stale,
    () => (shown.value = Date.now()),
    { flush: 'sync' },
  )
  onScopeDispose(() => clearTimeout(timer))
  return { armed, rearm: () => (shown.value = Date.now()) }
}

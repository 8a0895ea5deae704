import { onScopeDispose, ref, shallowRef, watch, watchEffect, type Ref } from 'vue'
import { useSessions } from '@/state/sessions'
import { armedFrom } from './decide'
import { movedAt, resting } from './hand'

// When the window last got the focus. One listener serves all cards.
const focused = shallowRef<number | null>(null)
const back = () => (focused.value = Date.now())
addEventListener('focus', back)
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) back()
})

/**
 * useArming returns whether a card accepts decisions yet. rearm starts the wait again, for a card
 * that gets the focus while a key may still arrive.
 */
export function useArming(): { armed: Readonly<Ref<boolean>>; rearm: () => void } {
  const shown = ref(Date.now())
  const armed = ref(false)
  const store = useSessions()
  let timer: ReturnType<typeof setTimeout> | undefined
  watchEffect(
    () => {
      clearTimeout(timer)
      const wait = armedFrom(shown.value, focused.value, movedAt.value) - Date.now()
      // After a suspension it shows an old state; the new one arrives soon and counts as just
      // shown.
      armed.value = wait <= 0 && !store.stale && !resting.value
      if (wait > 0 && !store.stale && !resting.value) timer = setTimeout(() => (armed.value = true), wait)
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

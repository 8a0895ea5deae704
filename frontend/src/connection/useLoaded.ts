import { onBeforeUnmount, onMounted, ref, shallowRef } from 'vue'
import { errorMessage } from './errorMessage'

/**
 * useLoaded loads the data of a page when it opens, unless later is set, and on each reload.
 * describe turns an error into the message to show; '' shows none.
 */
export function useLoaded<T>(
  load: () => Promise<T>,
  { describe = errorMessage, later = false }: { describe?: (err: unknown) => string; later?: boolean } = {},
) {
  const value = shallowRef<T | null>(null)
  const problem = ref('')
  const loading = ref(false)
  let turn = 0

  /** Loads again. The old value stays until the new one arrives, or if the call fails. */
  async function reload(): Promise<void> {
    const mine = ++turn
    loading.value = true
    try {
      const next = await load()
      if (mine !== turn) return
      value.value = next
      problem.value = ''
    } catch (err) {
      if (mine === turn) problem.value = describe(err)
    }
    if (mine === turn) loading.value = false
  }
  if (!later) onMounted(reload)
  onBeforeUnmount(() => turn++)
  return { value, problem, loading, reload }
}

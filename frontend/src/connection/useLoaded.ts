import { onBeforeUnmount, onMounted, ref, shallowRef } from 'vue'
import { sentence } from './sentence'

/** useLoaded loads what a page shows when the page is opened, and again with each reload. */
export function useLoaded<T>(load: () => Promise<T>) {
  const value = shallowRef<T | null>(null)
  const problem = ref('')
  const loading = ref(false)
  let turn = 0

  /** Loads again. The value stays until the answer comes, and stays when the server refuses. */
  async function reload(): Promise<void> {
    const mine = ++turn
    loading.value = true
    try {
      const next = await load()
      if (mine !== turn) return
      value.value = next
      problem.value = ''
    } catch (err) {
      if (mine === turn) problem.value = sentence(err)
    }
    if (mine === turn) loading.value = false
  }
  onMounted(reload)
  onBeforeUnmount(() => turn++)
  return { value, problem, loading, reload }
}

import { onBeforeUnmount, onMounted, ref, shallowRef } from 'vue'
import { sentence } from './sentence'

/** What a page shows of the server: loaded when it is opened, and whenever asked again. */
export function useLoaded<T>(load: () => Promise<T>) {
  const value = shallowRef<T | null>(null)
  const problem = ref('')
  const loading = ref(false)
  let turn = 0

  /** Looks anew. What is there stays until the answer comes, also when that is a refusal. */
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

import { useTimeoutFn } from '@vueuse/core'
import { computed, onBeforeUnmount, watch } from 'vue'
import { errorMessage } from '@/connection/errorMessage'
import { useLoaded } from '@/connection/useLoaded'

interface Page<T> {
  readonly found: readonly T[]
  /** The cursor of the next page; null after the last. */
  readonly next: string | null
}

/**
 * useFound searches delayMs after each change of the words, and delayFirstMs after the page opened. found is
 * null until the first response; more fetches the next page. Changed words abort a running search. find gets
 * the results that are already shown.
 */
export function useFound<T>(
  words: () => string,
  find: (words: string, next: string | null, signal: AbortSignal, known: readonly T[]) => Promise<Page<T>>,
  { delayMs, delayFirstMs }: { delayMs: number; delayFirstMs: number },
) {
  let search = new AbortController()
  let after: string | null = null
  const { value, problem, loading, reload } = useLoaded(
    async (): Promise<Page<T>> => {
      search.abort()
      const { signal } = (search = new AbortController())
      const known = after === null ? [] : (value.value?.found ?? [])
      const page = await find(words().trim(), after, signal, known)
      return { found: [...known, ...page.found], next: page.next }
    },
    { later: true, describe: (err) => (search.signal.aborted ? '' : errorMessage(err)) },
  )
  const { start } = useTimeoutFn(
    () => {
      after = null
      void reload()
    },
    () => (value.value === null ? delayFirstMs : delayMs),
    { immediate: false },
  )
  watch(
    words,
    () => {
      search.abort()
      start()
    },
    { immediate: true },
  )
  onBeforeUnmount(() => search.abort())

  const next = computed(() => value.value?.next ?? null)
  function more() {
    after = next.value
    void reload()
  }
  return { found: computed(() => value.value?.found ?? null), next, problem, busy: loading, more }
}

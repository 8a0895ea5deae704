import { ref, watch, type Ref } from 'vue'
import { Drafts } from '@/core/drafts'

export const drafts = new Drafts(localStorage)

/** A value that outlives the component and the page, under a key of the server's own ids. */
export function useDraft<T>(key: string, blank: () => T): { value: Ref<T>; forget: () => void } {
  const value = ref(drafts.get<T>(key) ?? blank()) as Ref<T>
  const stop = watch(value, (now) => {
    if (JSON.stringify(now) === JSON.stringify(blank())) drafts.remove(key)
    else drafts.set(key, now)
    // Written at once: a page may be gone before the next tick.
  }, { deep: true, flush: 'sync' })
  return {
    value,
    forget() {
      stop()
      drafts.remove(key)
    },
  }
}

import { onScopeDispose, ref, shallowReactive, watch, type Ref } from 'vue'
import { Drafts } from '@/connection/drafts'
import { onOwner } from '@/connection/owner'

export const drafts = new Drafts(localStorage)

interface Live {
  value: Ref<unknown>
  blank: () => unknown
}

/** The drafts that are shown on the page, by key; see draftsync.ts. */
export const live = new Map<string, Live>()
/** Drafts from another device that conflict with a draft here, by key. */
export const merges = shallowReactive(new Map<string, unknown>())
onOwner(() => merges.clear())
/** Called after every change made here; set by draftsync.ts. */
export const draftObserver: { changed: (key: string) => void } = { changed() {} }

/**
 * useDraft returns a value that survives the component and the page, under a key made of ids of the
 * server.
 */
export function useDraft<T>(key: string, blank: () => T): { value: Ref<T>; forget: () => void } {
  const value = ref(drafts.get<T>(key) ?? blank()) as Ref<T>
  const mine = { value, blank }
  live.set(key, mine)
  const stop = watch(
    value,
    (now) => {
      if (JSON.stringify(now) === JSON.stringify(blank())) drafts.remove(key)
      else drafts.set(key, now)
      draftObserver.changed(key)
      // Stored at once, because the page may be gone before the next tick.
    },
    { deep: true, flush: 'sync' },
  )
  onScopeDispose(() => live.get(key) === mine && live.delete(key))
  return {
    value,
    forget() {
      stop()
      drafts.remove(key)
    },
  }
}

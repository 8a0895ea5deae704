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

// Tabs of one browser share the stored drafts. A draft that another tab has stored is shown here too: otherwise the
// next letter typed here would replace it with an old text. The form for a new session is exempt, because it also
// fills itself in: two tabs would overwrite each other.
let mirroring = false
addEventListener('storage', (ev) => {
  const key = drafts.keyOf(ev.key)
  if (key === null || key.endsWith('new-session')) return
  const there = live.get(key)
  if (!there) return
  const stored = JSON.stringify(drafts.get(key) ?? there.blank())
  // The other tab has taken the draft of the other device.
  if (stored === JSON.stringify(merges.get(key))) merges.delete(key)
  if (stored === JSON.stringify(there.value.value)) return
  mirroring = true
  there.value.value = JSON.parse(stored)
  mirroring = false
})

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
      // Storing it again could replace what the other tab has stored since.
      if (mirroring) return
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

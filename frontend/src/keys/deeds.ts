import { onBeforeUnmount, onMounted } from 'vue'
import type { KeyID } from './table'

/** False passes the key on to the part around this one; 'later' says that what takes it is still on its way. */
type Deed = (ev: Event) => unknown

/** What keys do in one part of the page. */
type Deeds = { readonly [id in KeyID]?: Deed | undefined }

const scopes: Deeds[] = []

/**
 * Says what keys do for as long as the component is on the page; the part that
 * came last is asked first, and what holds everywhere last of all.
 */
export function useDeeds(deeds: Deeds, everywhere = false): void {
  onMounted(() => (everywhere ? scopes.unshift(deeds) : scopes.push(deeds)))
  onBeforeUnmount(() => scopes.splice(scopes.indexOf(deeds), 1))
}

/** Whether a key does something on this page. */
export const taken = (id: KeyID): boolean => scopes.some((s) => s[id])

/** Does what a key does now; false when nothing on the page takes it, 'later' when that may change in a moment. */
export function perform(id: KeyID, ev: Event): boolean | 'later' {
  for (const s of scopes.toReversed()) {
    const did = s[id]?.(ev) ?? s[id] !== undefined
    if (did !== false) return did === 'later' ? 'later' : true
  }
  return false
}

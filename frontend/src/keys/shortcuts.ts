import { onBeforeUnmount, onMounted } from 'vue'
import type { KeyID } from './table'

/** A handler returns false to pass the key on to the part around this one, and 'later' while what handles it is loading. */
type Handler = (ev: Event) => unknown

type Shortcuts = { readonly [id in KeyID]?: Handler | undefined }

const scopes: Shortcuts[] = []

/**
 * useShortcuts handles keys for as long as the component is mounted. The component
 * mounted last is asked first; those of everywhere are asked last.
 */
export function useShortcuts(shortcuts: Shortcuts, everywhere = false): void {
  onMounted(() => (everywhere ? scopes.unshift(shortcuts) : scopes.push(shortcuts)))
  onBeforeUnmount(() => scopes.splice(scopes.indexOf(shortcuts), 1))
}

/** hasShortcut reports whether a key does anything on this page. */
export const hasShortcut = (id: KeyID): boolean => scopes.some((s) => s[id])

/** runShortcut runs the handler of a key; it returns false when the page has none, and 'later' when one is loading. */
export function runShortcut(id: KeyID, ev: Event): boolean | 'later' {
  for (const s of scopes.toReversed()) {
    const did = s[id]?.(ev) ?? s[id] !== undefined
    if (did !== false) return did === 'later' ? 'later' : true
  }
  return false
}

import { onBeforeUnmount, onMounted } from 'vue'
import type { KeyID } from './table'

/**
 * A handler returns false to pass the key on to the component around it, and 'later' while its target is
 * loading.
 */
type Handler = (ev: Event) => unknown

type Shortcuts = { readonly [id in KeyID]?: Handler | undefined }

const scopes: Shortcuts[] = []

/**
 * useShortcuts handles shortcuts while the component is mounted. The component mounted last comes first;
 * global handlers come last.
 */
export function useShortcuts(shortcuts: Shortcuts, everywhere = false): void {
  onMounted(() => (everywhere ? scopes.unshift(shortcuts) : scopes.push(shortcuts)))
  onBeforeUnmount(() => scopes.splice(scopes.indexOf(shortcuts), 1))
}

/** hasShortcut reports whether a shortcut does anything on this page. */
export const hasShortcut = (id: KeyID): boolean => scopes.some((s) => s[id])

/**
 * runShortcut runs the handler of a shortcut. It returns false if the page has none, and 'later' while one is
 * loading.
 */
export function runShortcut(id: KeyID, ev: Event): boolean | 'later' {
  for (const s of scopes.toReversed()) {
    const did = s[id]?.(ev) ?? s[id] !== undefined
    if (did !== false) return did === 'later' ? 'later' : true
  }
  return false
}

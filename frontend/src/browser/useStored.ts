import { useEventListener } from '@vueuse/core'
import { computed, shallowRef, toValue, watch, type MaybeRefOrGetter, type Ref } from 'vue'

/**
 * useStored returns a ref that localStorage keeps under key and that follows changes of other tabs
 * and of the same page. Strings are stored as they are, null is not stored, other values are stored
 * as JSON. read parses the stored text; the fallback applies if it returns undefined or throws, or if
 * nothing is stored. Without storage, the value lasts as long as the page.
 */
export function useStored<T>(
  key: MaybeRefOrGetter<string>,
  fallback: T,
  read: (text: string) => T | undefined,
): Ref<T> {
  const parse = (text: string | null): T => {
    try {
      return (text === null ? undefined : read(text)) ?? fallback
    } catch {
      return fallback
    }
  }
  const write = (value: T): string => (typeof value === 'string' ? value : JSON.stringify(value))
  const load = (): T => {
    try {
      return parse(localStorage.getItem(toValue(key)))
    } catch {
      return fallback // site data is blocked
    }
  }
  const current = shallowRef(load())
  watch(
    () => toValue(key),
    () => (current.value = load()),
    { flush: 'sync' },
  )
  useEventListener('storage', ({ key: changed, newValue }) => {
    if (changed !== toValue(key) || newValue === write(current.value)) return
    current.value = parse(newValue)
  })
  return computed({
    get: () => current.value,
    set(value) {
      current.value = value
      const text = value === null ? null : write(value)
      try {
        if (text === null) localStorage.removeItem(toValue(key))
        else localStorage.setItem(toValue(key), text)
      } catch {
        return // blocked or full
      }
      // Browsers send this event to other tabs only.
      dispatchEvent(new StorageEvent('storage', { key: toValue(key), newValue: text }))
    },
  })
}

/** oneOf returns a reader for useStored that accepts only these values. */
export const oneOf =
  <T extends string>(...values: readonly T[]) =>
  (text: string): T | undefined =>
    values.find((v) => v === text)

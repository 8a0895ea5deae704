import { useEventListener, useStorage } from '@vueuse/core'
import { toValue, type MaybeRefOrGetter, type Ref } from 'vue'

/**
 * useStored returns a ref that localStorage keeps under key and that follows changes of other tabs.
 * Strings are stored as they are, null is not stored, other values are stored as JSON. read parses
 * the stored text; the fallback applies if it returns undefined or throws, or if nothing is stored.
 * Without storage, the value lasts as long as the page.
 */
export function useStored<T>(
  key: MaybeRefOrGetter<string>,
  fallback: T,
  read: (text: string) => T | undefined,
): Ref<T> {
  const parse = (text: string): T => {
    try {
      return read(text) ?? fallback
    } catch {
      return fallback
    }
  }
  const write = (value: T): string => (typeof value === 'string' ? value : JSON.stringify(value))
  const stored = useStorage<T>(key, fallback, undefined, {
    serializer: { read: parse, write },
    writeDefaults: false,
    // With this option, VueUse also reacts to its own writes and loses a change that follows one
    // within a tick.
    listenToStorageChanges: false,
    shallow: true,
    flush: 'sync',
    onError: () => {},
  }) as Ref<T>
  useEventListener('storage', ({ key: changed, newValue }) => {
    if (changed !== toValue(key) || newValue === write(stored.value)) return
    stored.value = newValue === null ? fallback : parse(newValue)
  })
  return stored
}

/** oneOf returns a reader for useStored that accepts only these values. */
export const oneOf =
  <T extends string>(...values: readonly T[]) =>
  (text: string): T | undefined =>
    values.find((v) => v === text)

import { useStorage } from '@vueuse/core'
import type { MaybeRefOrGetter, Ref } from 'vue'

/**
 * useStored returns a value that localStorage keeps under key and that follows other
 * tabs. A string is stored as it is, null is not stored, all else is JSON. read turns
 * the stored text into a value; the fallback is used where it returns undefined or
 * throws, and where nothing is stored. Without storage the value lasts as long as the page.
 */
export function useStored<T>(
  key: MaybeRefOrGetter<string>,
  fallback: T,
  read: (text: string) => T | undefined,
): Ref<T> {
  return useStorage<T>(key, fallback, undefined, {
    serializer: {
      read: (text) => {
        try {
          return read(text) ?? fallback
        } catch {
          return fallback
        }
      },
      write: (value) => (typeof value === 'string' ? value : JSON.stringify(value)),
    },
    writeDefaults: false,
    shallow: true,
    flush: 'sync',
    onError: () => {},
  }) as Ref<T>
}

/** oneOf returns a reader for useStored that accepts only these values. */
export const oneOf =
  <T extends string>(...values: readonly T[]) =>
  (text: string): T | undefined =>
    values.find((v) => v === text)

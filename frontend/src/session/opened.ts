import { inject, provide, reactive, computed, type ComputedRef, type InjectionKey, type WritableComputedRef } from 'vue'

// Rows out of view are removed from the page, so their open state is stored here.
interface Opened {
  has(id: string): boolean
  add(id: string): unknown
  delete(id: string): unknown
}
const key: InjectionKey<Opened> = Symbol('opened')

/** provideOpened provides the open state of rows and returns a function that opens a row. */
export function provideOpened(): (id: string) => void {
  const opened = reactive(new Set<string>())
  provide(key, opened)
  return (id) => opened.add(id)
}

/** provideAllOpened is for pages on which every row is always open. */
export function provideAllOpened(): void {
  provide(key, { has: () => true, add() {}, delete() {} })
}

export function useOpened(id: () => string): WritableComputedRef<boolean> {
  const opened = inject(key, (): Opened => reactive(new Set<string>()), true)
  return computed({
    get: () => opened.has(id()),
    set: (yes) => {
      if (yes) opened.add(id())
      else opened.delete(id())
    },
  })
}

/** useOpenedAny reports whether any of these rows is open. */
export function useOpenedAny(ids: () => string[]): ComputedRef<boolean> {
  const opened = inject(key, (): Opened => reactive(new Set<string>()), true)
  return computed(() => ids().some((id) => opened.has(id)))
}

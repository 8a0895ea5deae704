import { inject, provide, reactive, computed, type ComputedRef, type InjectionKey, type WritableComputedRef } from 'vue'

// Rows out of sight are taken out of the page, so what is opened is kept here.
interface Opened {
  has(id: string): boolean
  add(id: string): unknown
  delete(id: string): unknown
}
const key: InjectionKey<Opened> = Symbol('opened')

/** Returns what opens a row from outside. */
export function provideOpened(): (id: string) => void {
  const opened = reactive(new Set<string>())
  provide(key, opened)
  return (id) => opened.add(id)
}

/** For a page on which everything is open and stays so. */
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

/** Whether one of these is open. */
export function useOpenedAny(ids: () => string[]): ComputedRef<boolean> {
  const opened = inject(key, (): Opened => reactive(new Set<string>()), true)
  return computed(() => ids().some((id) => opened.has(id)))
}

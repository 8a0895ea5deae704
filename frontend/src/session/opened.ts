import { inject, provide, reactive, computed, type InjectionKey, type WritableComputedRef } from 'vue'

// Rows out of sight are taken out of the page, so what is opened is kept here.
const key: InjectionKey<Set<string>> = Symbol('opened')

export function provideOpened(): void {
  provide(key, reactive(new Set<string>()))
}

export function useOpened(id: () => string): WritableComputedRef<boolean> {
  const opened = inject(key, () => reactive(new Set<string>()), true)
  return computed({
    get: () => opened.has(id()),
    set: (yes) => {
      if (yes) opened.add(id())
      else opened.delete(id())
    },
  })
}

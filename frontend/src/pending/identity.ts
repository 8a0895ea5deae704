import type { InjectionKey, Ref } from 'vue'

/** Where a card names its file: between its header and what scrolls. Null where there is no card. */
export const identityKey: InjectionKey<Readonly<Ref<HTMLElement | null>>> = Symbol('identity')

import type { InjectionKey, Ref } from 'vue'

/** The element in which a card names its file, between its header and the scrolling part; null without a card. */
export const identityKey: InjectionKey<Readonly<Ref<HTMLElement | null>>> = Symbol('identity')

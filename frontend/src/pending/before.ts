import type { Component, InjectionKey } from 'vue'

/**
 * The component that shows what led to a request, below its card on a phone. Its props are session, request
 * and after.
 */
export const beforeKey: InjectionKey<Component> = Symbol('before')

import type { Component, InjectionKey } from 'vue'

/** What shows what led to a request, under its card on a phone; it takes session, request and after. */
export const beforeKey: InjectionKey<Component> = Symbol('before')

import { shallowReactive, type Component } from 'vue'

interface Toast {
  readonly key: number
  readonly component: Component
  readonly props: object
}

/** shownToasts contains the toasts that ToastHost shows, by name. */
export const shownToasts = shallowReactive(new Map<string, Toast>())
let shown = 0

/**
 * showToast shows a component at the edge of the page until it emits done. It replaces a toast of the same
 * name.
 */
export function showToast(name: string, component: Component, props: object = {}): void {
  shownToasts.set(name, { key: ++shown, component, props })
}

export function hideToast(name: string): void {
  shownToasts.delete(name)
}

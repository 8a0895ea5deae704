import { shallowRef } from 'vue'

/** What the live regions of App.vue say; a new object each time, so that the same sentence is said again. */
export const polite = shallowRef({ text: '' })
export const assertive = shallowRef({ text: '' })

export function announce(text: string, urgent = false): void {
  ;(urgent ? assertive : polite).value = { text }
}

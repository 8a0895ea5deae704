import { shallowRef } from 'vue'

/** What the live regions of App.vue say; a new object each time, so that the same sentence is said again. */
export const polite = shallowRef({ text: '' })
export const assertive = shallowRef({ text: '' })

export function announce(text: string, urgent = false): void {
  ;(urgent ? assertive : polite).value = { text }
}

/**
 * What leads to a request, as the end of the sentence that tells of it. The keys
 * are loaded beside the first screen; before that there is nothing to press.
 */
export const leads = { there: (_question: boolean): string => '' }

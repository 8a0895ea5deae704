import { shallowRef } from 'vue'

/**
 * The texts of the live regions in App.vue. Each is a new object, so that the same text is announced again.
 */
export const polite = shallowRef({ text: '' })
export const assertive = shallowRef({ text: '' })

export function announce(text: string, urgent = false): void {
  ;(urgent ? assertive : polite).value = { text }
}

/**
 * The end of an announcement that tells how to get to the request. The shortcuts load after the first screen;
 * before that it is empty.
 */
export const leads = { there: (_question: boolean): string => '' }

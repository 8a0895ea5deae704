import { nextTick } from 'vue'
import { touch } from './narrow'

// An action may remove its button, and with it the focus. A container that stays names, in
// data-focus-fallback, a selector for the element that then gets the focus.

/**
 * fallbackOf returns the container that handles the focus if an element disappears: the nearest around it, or
 * that of the page.
 */
export const fallbackOf = (el: Element | null): HTMLElement | null =>
  el &&
  (el.closest<HTMLElement>('[data-focus-fallback]') ??
    document.querySelector<HTMLElement>('main [data-focus-fallback]'))

/** restoreFocus focuses the fallback of a container if nothing has the focus once the page is rendered. */
export function restoreFocus(home: HTMLElement | null): void {
  void nextTick(() => {
    if (!home?.isConnected || (document.activeElement ?? document.body) !== document.body) return
    const to = home.querySelector<HTMLElement>(home.dataset['focusFallback']!)
    // Focusing a text field would open the keyboard of a phone.
    if (to?.matches('textarea') && touch.value) return
    to?.focus()
  })
}

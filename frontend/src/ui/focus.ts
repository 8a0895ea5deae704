import { nextTick } from 'vue'
import { touch } from './narrow'

// A button may disappear with what it did, and the focus with it. A container that
// stays names, in data-focus-fallback, the selector of what in it takes the focus then.

/** fallbackOf returns the container that takes the focus when this element goes: the nearest around it, or that of the page. */
export const fallbackOf = (el: Element | null): HTMLElement | null =>
  el &&
  (el.closest<HTMLElement>('[data-focus-fallback]') ??
    document.querySelector<HTMLElement>('main [data-focus-fallback]'))

/** restoreFocus focuses what a container names, if nothing has the focus once the page is drawn. */
export function restoreFocus(home: HTMLElement | null): void {
  void nextTick(() => {
    if (!home?.isConnected || (document.activeElement ?? document.body) !== document.body) return
    const to = home.querySelector<HTMLElement>(home.dataset['focusFallback']!)
    // The keyboard of a phone comes up for nobody who did not ask for it.
    if (to?.matches('textarea') && touch.value) return
    to?.focus()
  })
}

import { nextTick } from 'vue'

// What is pressed may go away with what it did, and whoever has no pointer would
// be nowhere. A place that is left behind says so with data-home, whose value
// is a selector of what in it takes the focus.

/** The place to which the focus goes when this element goes: its own, or that of the page. */
export const homeOf = (el: Element | null): HTMLElement | null =>
  el && (el.closest<HTMLElement>('[data-home]') ?? document.querySelector<HTMLElement>('main [data-home]'))

/** Goes there, if the focus is nowhere once the page is drawn. */
export function goHome(home: HTMLElement | null): void {
  void nextTick(() => {
    if (!home?.isConnected || (document.activeElement ?? document.body) !== document.body) return
    const to = home.querySelector<HTMLElement>(home.dataset['home']!)
    // The keyboard of a phone comes up for nobody who did not ask for it.
    if (to?.matches('textarea') && matchMedia('(pointer: coarse)').matches) return
    to?.focus()
  })
}

// What keys do comes with a chunk of its own, a moment after the page: see
// keyboard.ts. What is pressed before it is there is kept here.

const FIELDS =
  'textarea, select, [contenteditable], [data-writes], input:not([type=checkbox], [type=radio], [type=button], [type=submit])'

/** Whether keys write where the focus is. */
export const writes = (el: Element | null): boolean => el?.matches(FIELDS) === true

export interface Early {
  readonly ev: KeyboardEvent
  /** The page for which it was meant. */
  readonly path: string
}

const MAX = 20
const kept: Early[] = []

function keep(ev: KeyboardEvent) {
  // What one writes is no key of ours, and may be a password.
  if (
    ev.target instanceof Element &&
    writes(ev.target) &&
    !(ev.target.matches('textarea') && (ev.altKey || ev.ctrlKey || ev.metaKey))
  )
    return
  kept.push({ ev, path: location.pathname })
  if (kept.length > MAX) kept.shift()
}

/** Keeps presses until they are asked for. */
export const keepEarly = () => addEventListener('keydown', keep)

/** The presses that were kept; from now on the caller hears them itself. */
export function takeEarly(): Early[] {
  removeEventListener('keydown', keep)
  return kept.splice(0)
}

// The shortcuts load after the page, see keyboard.ts. Keys pressed before that are stored here.

const FIELDS =
  'textarea, select, [contenteditable], [data-writes], input:not([type=checkbox], [type=radio], [type=button], [type=submit])'

/** Reports whether keys type text into the focused element. */
export const writes = (el: Element | null): boolean => el?.matches(FIELDS) === true

export interface Early {
  readonly ev: KeyboardEvent
  /** The page on which it was pressed. */
  readonly path: string
}

const MAX = 20
const kept: Early[] = []

function keep(ev: KeyboardEvent) {
  // Text that is typed is not a shortcut, and may be a password.
  if (
    ev.target instanceof Element &&
    writes(ev.target) &&
    !(ev.target.matches('textarea') && (ev.altKey || ev.ctrlKey || ev.metaKey))
  )
    return
  kept.push({ ev, path: location.pathname })
  if (kept.length > MAX) kept.shift()
}

/** Stores key presses until takeEarly is called. */
export const keepEarly = () => addEventListener('keydown', keep)

/** Returns the stored key presses. From now on the caller handles keys itself. */
export function takeEarly(): Early[] {
  removeEventListener('keydown', keep)
  return kept.splice(0)
}

// All shortcuts of the web app: the listener, the overview, the palette and aria-keyshortcuts use this table.
// Keys are written as in KeyboardEvent.key, with modifiers before them; two keys separated by a space are
// pressed one after the other. Mod is Command on a Mac and Control elsewhere. A card handles its own
// shortcuts, because it knows when it may decide.

import { useStored } from '@/browser/useStored'
import { ownKey } from '@/connection/owner'
import { singleKeys } from './single'

export type Scope = 'everywhere' | 'session' | 'card' | 'inbox'

interface Row {
  keys: string
  scope: Scope
  /** Works while typing. */
  writing?: true
}

const rows = {
  palette: { keys: 'Mod+k', scope: 'everywhere', writing: true },
  toRequest: { keys: 'Alt+.', scope: 'everywhere', writing: true },
  again: { keys: 'Alt+Shift+.', scope: 'everywhere', writing: true },
  inbox: { keys: 'g i', scope: 'everywhere' },
  sessions: { keys: 'g s', scope: 'everywhere' },
  admin: { keys: 'g a', scope: 'everywhere' },
  create: { keys: 'c', scope: 'everywhere' },
  next: { keys: 'j', scope: 'everywhere' },
  previous: { keys: 'k', scope: 'everywhere' },
  open: { keys: 'Enter', scope: 'everywhere' },
  nextWaiting: { keys: ']', scope: 'everywhere' },
  previousWaiting: { keys: '[', scope: 'everywhere' },
  help: { keys: '?', scope: 'everywhere' },
  undo: { keys: 'u', scope: 'everywhere' },
  leave: { keys: 'Escape', scope: 'everywhere', writing: true },

  toComposer: { keys: 'Alt+,', scope: 'session', writing: true },
  search: { keys: '/', scope: 'session' },
  about: { keys: 'b', scope: 'session' },
  lastOwn: { keys: 'm', scope: 'session' },
  said: { keys: 't', scope: 'session' },
  bottom: { keys: 'G', scope: 'session' },

  approve: { keys: 'y', scope: 'card' },
  deny: { keys: 'n', scope: 'card' },
  denyAndInterrupt: { keys: 'N', scope: 'card' },
  templates: { keys: 't', scope: 'card' },
  edit: { keys: 'e', scope: 'card' },
  rules: { keys: 'a', scope: 'card' },
  sides: { keys: 'd', scope: 'card' },
  raw: { keys: 'v', scope: 'card' },
  option: { keys: '1', scope: 'card' },
  other: { keys: '0', scope: 'card' },
  send: { keys: 'Mod+Enter', scope: 'card', writing: true },

  snooze: { keys: 'z', scope: 'inbox' },
  select: { keys: 'x', scope: 'inbox' },
  selectLow: { keys: 'A', scope: 'inbox' },
  approveSelected: { keys: 'Y', scope: 'inbox' },
} as const satisfies Record<string, Row>

export type KeyID = keyof typeof rows

export const table: Readonly<Record<KeyID, Row>> = rows

/**
 * The keys that a person has chosen instead, by the name of the row, on all of their devices. The browser
 * stores a copy for the start, and for when the server is unavailable.
 */
export const remapped = useStored<{ readonly [id in KeyID]?: string }>(
  () => ownKey('keys'),
  {},
  (text) => cleaned(JSON.parse(text)),
)

/** Returns the keys of a shortcut. */
export const keysOf = (id: KeyID): string => remapped.value[id] ?? table[id].keys

/** Reports whether a shortcut can be changed. Some belong to the browser, or stand for ten keys. */
export const movable = (id: KeyID): boolean => id !== 'leave' && id !== 'option' && id !== 'other'

/** Returns only the entries that are names of the table with valid keys. */
export function cleaned(map: unknown): { [id in KeyID]?: string } {
  const clean: { [id in KeyID]?: string } = {}
  for (const [id, press] of Object.entries(typeof map === 'object' && map !== null ? map : {})) {
    if (Object.hasOwn(rows, id) && movable(id as KeyID) && typeof press === 'string' && press !== '')
      clean[id as KeyID] = press
  }
  return clean
}

export function remap(map: { readonly [id in KeyID]?: string }): void {
  remapped.value = map
}

/** Returns the other shortcuts in the same place with the same keys, or with keys that start with them. */
export function conflictsOf(id: KeyID): KeyID[] {
  const here = keysOf(id)
  const meets = (other: KeyID) => {
    const there = keysOf(other)
    return (
      there === here ||
      there.startsWith(`${here} `) ||
      here.startsWith(`${there} `) ||
      (other === 'option' && /^[1-9]$/.test(here))
    )
  }
  // No other component sees a key that a card handles, so the same key may have another meaning around it.
  const near = (a: Scope, b: Scope) => a === b || a === 'everywhere' || b === 'everywhere'
  return ids.filter((other) => other !== id && near(table[id].scope, table[other].scope) && meets(other))
}
export const ids = Object.keys(rows) as KeyID[]

export const isMac = /Mac|iP(hone|ad|od)/.test(navigator.platform)

/** Reports whether a shortcut is a single character, which can be turned off. */
export const single = (id: KeyID): boolean =>
  keysOf(id)
    .split(' ')
    .every((k) => [...k].length === 1)

/**
 * Returns a shortcut for aria-keyshortcuts, '' for keys that are pressed one after the other, which it cannot
 * express.
 */
export function shortcutOf(id: KeyID): string {
  const keys = keysOf(id)
  if (keys.includes(' ') || (!singleKeys.value && single(id))) return ''
  return keys.replace('Mod', isMac ? 'Meta' : 'Control').replace(/^[A-Z]$/, (k) => `Shift+${k}`)
}

/** Returns the key caps to draw, one list for each press. */
export function capsOf(id: KeyID): string[][] {
  return keysOf(id)
    .split(' ')
    .map((press) =>
      press
        .replace(/^[A-Z]$/, (k) => `Shift+${k}`)
        .split('+')
        .map((cap) => (cap === 'Mod' ? (isMac ? '⌘' : 'Ctrl') : cap === 'Escape' ? 'Esc' : cap)),
    )
}

/** Returns a shortcut as text for a sentence, '' if it is turned off. */
export const writtenOf = (id: KeyID): string =>
  !singleKeys.value && single(id)
    ? ''
    : capsOf(id)
        .map((press) => press.join('+'))
        .join(' ')

/** Returns a shortcut as text beside the label of a button, '' if it is turned off. */
export const hintOf = (id: KeyID): string => writtenOf(id).replace(/^[a-z]$/, (key) => key.toUpperCase())

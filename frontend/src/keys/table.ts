// Every key of the web app, once: the listener, the sheet, the palette and
// aria-keyshortcuts are made from it. Keys are written as KeyboardEvent.key
// has them, with the modifiers before them; two separated by a space are pressed
// one after the other. Mod is Command on a Mac and Control elsewhere.
//
// The rows of a card are heard by the card itself, which knows when it may decide.

export type Scope = 'everywhere' | 'session' | 'card' | 'inbox'

interface Row {
  keys: string
  scope: Scope
  /** Works while one writes. */
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
  leave: { keys: 'Escape', scope: 'everywhere', writing: true },

  toComposer: { keys: 'Alt+,', scope: 'session', writing: true },
  search: { keys: '/', scope: 'session' },
  lastOwn: { keys: 'u', scope: 'session' },
  bottom: { keys: 'G', scope: 'session' },

  approve: { keys: 'y', scope: 'card' },
  deny: { keys: 'n', scope: 'card' },
  denyAndInterrupt: { keys: 'N', scope: 'card' },
  templates: { keys: 't', scope: 'card' },
  edit: { keys: 'e', scope: 'card' },
  rules: { keys: 'a', scope: 'card' },
  raw: { keys: 'v', scope: 'card' },
  option: { keys: '1', scope: 'card' },
  other: { keys: '0', scope: 'card' },
  send: { keys: 'Mod+Enter', scope: 'card', writing: true },

  snooze: { keys: 'z', scope: 'inbox' },
  select: { keys: 'x', scope: 'inbox' },
  approveSelected: { keys: 'Y', scope: 'inbox' },
} as const satisfies Record<string, Row>

export type KeyID = keyof typeof rows

export const table: Readonly<Record<KeyID, Row>> = rows
export const ids = Object.keys(rows) as KeyID[]

export const isMac = /Mac|iP(hone|ad|od)/.test(navigator.platform)

/** Whether a key is one character, which a person may turn off. */
export const single = (id: KeyID): boolean => table[id].keys.split(' ').every((k) => [...k].length === 1)

/** A key as aria-keyshortcuts wants it; '' for those pressed one after the other, for which it has no form. */
export function shortcutOf(id: KeyID): string {
  const { keys } = table[id]
  if (keys.includes(' ')) return ''
  return keys.replace('Mod', isMac ? 'Meta' : 'Control').replace(/^[A-Z]$/, (k) => `Shift+${k}`)
}

/** The caps to draw, one list for each press. */
export function capsOf(id: KeyID): string[][] {
  return table[id].keys.split(' ').map((press) => press.replace(/^[A-Z]$/, (k) => `Shift+${k}`).split('+').map((cap) =>
    cap === 'Mod' ? (isMac ? '⌘' : 'Ctrl') : cap === 'Escape' ? 'Esc' : cap))
}

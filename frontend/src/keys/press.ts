import { isMac, keysOf, single, table, type KeyID } from './table'

/** The properties that identify a key press. */
export type Press = Pick<
  KeyboardEvent,
  'key' | 'code' | 'altKey' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'repeat' | 'isComposing'
> & { getModifierState(name: string): boolean }

// On a Mac, Alt changes the character of a key.
const CODES: Record<string, string> = { Period: '.', Comma: ',' }

/** Returns a press in the notation of the table, '' if it cannot be a shortcut. */
export function pressOf(ev: Press): string {
  if (ev.repeat || ev.isComposing || ev.key === 'Process' || ev.key === 'Dead' || ev.getModifierState('AltGraph'))
    return ''
  const mod = isMac ? ev.metaKey : ev.ctrlKey
  if (isMac ? ev.ctrlKey : ev.metaKey) return ''
  const key = ev.altKey ? (CODES[ev.code] ?? ev.key) : ev.key
  const named = [...key].length > 1
  // The Shift of a character is part of the character.
  const shift = ev.shiftKey && (ev.altKey || mod || named)
  return [mod && 'Mod', ev.altKey && 'Alt', shift && 'Shift', mod ? key.toLowerCase() : key].filter(Boolean).join('+')
}

const SEQUENCE_MS = 1_200

/** Reader recognizes a shortcut from one or two presses. */
export class Reader {
  private first = ''
  private at = 0

  constructor(private readonly candidates: readonly KeyID[]) {}

  /**
   * Returns the shortcut that a press completes, null if there is none, 'begun' if it may be the first of
   * two. Times are milliseconds.
   */
  read(press: string, now: number, singles: boolean, writing: boolean): KeyID | 'begun' | null {
    const before = now - this.at < SEQUENCE_MS ? this.first : ''
    this.first = ''
    if (press === '') return null
    const takes = (id: KeyID) => (writing ? table[id].writing === true : true) && (singles || !single(id))
    const whole = before === '' ? null : this.candidates.find((id) => keysOf(id) === `${before} ${press}` && takes(id))
    if (before !== '') return whole ?? null
    const found = this.candidates.find((id) => keysOf(id) === press && takes(id))
    if (found) return found
    if (!this.candidates.some((id) => keysOf(id).startsWith(press + ' ') && takes(id))) return null
    this.first = press
    this.at = now
    return 'begun'
  }
}

import { perform, singleKeys } from './deeds'
import { pressOf, Reader } from './press'
import { ids, table, type KeyID } from './table'

// What a card hears it hears itself, and where the focus is in one.
const HEARD = ids.filter((id) => table[id].scope !== 'card')

const FIELDS = 'textarea, select, [contenteditable], input:not([type=checkbox], [type=radio], [type=button], [type=submit])'

/** Whether keys write where the focus is. */
export const writes = (el: Element | null): boolean => el?.matches(FIELDS) === true

/** Listens until the returned function is called. */
export function listen(): () => void {
  const reader = new Reader(HEARD)
  function keydown(ev: KeyboardEvent) {
    // What a field or a card took is not for anybody else.
    if (ev.defaultPrevented) return
    const at = document.activeElement
    // Behind a dialog the page is inert, and its keys are too.
    const dialog = document.querySelector('dialog[open]') !== null
    const found = reader.read(pressOf(ev), ev.timeStamp, singleKeys.value, writes(at))
    if (found === null || found === 'begun' || (dialog && !IN_DIALOG.includes(found))) return
    if (perform(found, ev)) ev.preventDefault()
  }
  addEventListener('keydown', keydown)
  return () => removeEventListener('keydown', keydown)
}

const IN_DIALOG: KeyID[] = ['palette']

/** How long a key or a button is held to approve what can do much harm. */
export const HOLD_MS = 1200

/** Lets the key that is held now do and type nothing more until it comes up: what it was held for is done, and the focus goes elsewhere. */
export function spendKey(): void {
  const swallow = (ev: KeyboardEvent) => {
    if (!ev.repeat) return
    ev.preventDefault()
    ev.stopPropagation()
  }
  const done = () => {
    removeEventListener('keydown', swallow, true)
    removeEventListener('keyup', done, true)
    removeEventListener('blur', done)
  }
  addEventListener('keydown', swallow, true)
  addEventListener('keyup', done, true)
  addEventListener('blur', done)
}

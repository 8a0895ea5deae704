/** How long a key or button must be held to approve a dangerous request, in ms. */
export const HOLD_MS = 1200

/**
 * ignoreHeldKey ignores the key that is held now until it is released, because its purpose is fulfilled
 * and the focus moves elsewhere.
 */
export function ignoreHeldKey(): void {
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

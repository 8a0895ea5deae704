import { forms, tried } from './forms'

// The first screen can wait a moment for the cards. They are fetched while it is drawn,
// so that a form that comes later is there at once: an async component would take
// a turn even then, and a notice must have the focus before the next key.

const AGAIN_MS = 2_000

async function load(): Promise<void> {
  try {
    Object.assign(forms, { ...(await import('./cards')) })
  } catch {
    // A question that nobody sees is the worst that can be, so there is no last attempt.
    setTimeout(() => void load(), AGAIN_MS)
  }
  tried.value = true
}

/** loaded settles when the first attempt has ended. */
export const loaded = load()

import { forms, tried } from './forms'

// The cards are fetched while the first screen is drawn, so that a later request is shown at once:
// an async component would take another turn even then, and a notice must get the focus before the
// next key.

const AGAIN_MS = 2_000

async function load(): Promise<void> {
  try {
    Object.assign(forms, { ...(await import('./cards')) })
  } catch {
    // There is no last attempt, because an invisible question is the worst case.
    setTimeout(() => void load(), AGAIN_MS)
  }
  tried.value = true
}

/** loaded settles when the first attempt has ended. */
export const loaded = load()

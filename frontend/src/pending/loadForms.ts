import { forms, tried } from './forms'

// The cards are fetched while the first screen is drawn, so that a later request is shown at once:
// an async component would take another tick even then, and a notice must get the focus before the
// next key.

const RETRY_MS = 2_000

async function load(): Promise<void> {
  const parts = await Promise.allSettled([import('./cards'), import('./questions')])
  for (const part of parts) if (part.status === 'fulfilled') Object.assign(forms, { ...part.value })
  // Retries without limit, because an invisible question is the worst case.
  if (parts.some((part) => part.status === 'rejected')) setTimeout(() => void load(), RETRY_MS)
  tried.value = true
}

/** loaded settles when the first attempt has ended. */
export const loaded = load()

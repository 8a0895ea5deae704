const BASE_DELAY_MS = 250
const MAX_DELAY_MS = 15_000

/** How long a connection must last so that the next failure counts as the first, in ms. */
export const STABLE_MS = 10_000

/**
 * Returns the wait before attempt number `attempt` (from 0), in ms. It is fully random, so that
 * tabs do not all reconnect at once after a restart of the server.
 */
export function backoff(attempt: number, random: () => number): number {
  return random() * Math.min(MAX_DELAY_MS, BASE_DELAY_MS * 2 ** attempt)
}

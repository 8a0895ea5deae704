const FIRST_MS = 250
const LONGEST_MS = 15_000

/** How long a connection must have lasted before the next failure starts afresh. */
export const STABLE_MS = 10_000

/**
 * The wait before attempt number `attempt` (from 0), in milliseconds. Full
 * jitter: after a restart of the server the tabs come back spread out, not in
 * one wave.
 */
export function backoff(attempt: number, random: () => number): number {
  return random() * Math.min(LONGEST_MS, FIRST_MS * 2 ** attempt)
}

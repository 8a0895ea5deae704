/** A card just shown does not take a decision: the key was meant for something else. */
const AFTER_SHOWN_MS = 600
/** Nor does a page just come back to: the key may be buffered from another window. */
const AFTER_FOCUS_MS = 500

interface Moments {
  /** When the card appeared or was handed the focus by us; milliseconds. */
  shown: number
  /** When the window last got the focus or became visible; null when it has not. */
  focused: number | null
  /** Whether the end of what is to be approved was on screen. */
  endSeen: boolean
}

/** When decisions are taken at all. */
export function armedFrom(m: Moments): number {
  return Math.max(m.shown + AFTER_SHOWN_MS, m.focused === null ? 0 : m.focused + AFTER_FOCUS_MS)
}

/** Whether a refusal is taken: it does no harm unseen. */
export function mayDeny(m: Moments, now: number): boolean {
  return now >= armedFrom(m)
}

export function mayApprove(m: Moments, now: number): boolean {
  return m.endSeen && mayDeny(m, now)
}

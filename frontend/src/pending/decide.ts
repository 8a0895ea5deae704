import type { Level } from '@/wire/messages.gen'
import type { Phase } from './phase'

// The only rule for whether a request may be decided now. Buttons, shortcuts, the list, bulk
// approval and the tests all ask it, and no other code knows any part of it. It is pure: everything
// it needs is in its arguments.

/** How long a new card accepts no decision, in ms: the press was meant for something else. */
const AFTER_SHOWN_MS = 600
/** The same after the window got the focus, in ms: the press may have been meant for another window. */
const AFTER_FOCUS_MS = 500
/** How long a button must have been in its place before a pointer can press it, in ms. */
export const STILL_MS = 600
/** Rectangles that differ by less count as equal, because layout rounds. */
const SAME_PX = 2

/** Act is what a person wants to do: questions are answered, other requests approved or denied. */
export type Act = 'approve' | 'answer' | 'deny'

export interface Facts {
  /** Whether the time after the card appeared, or the window got the focus, is over. */
  armed: boolean
  /** The page was suspended and shows an old state. */
  stale: boolean
  phase: Phase['kind']
  /** The held answer is an approval, which a denial ends. */
  deniable?: boolean
  mayAnswer: boolean
  /** The rules and roles of the project let this person approve. */
  mayApprove: boolean
  /** Another person is writing the answer, and this one has not taken over. */
  othersWrite: boolean
  /** The end of what would be approved was on screen. */
  seen: boolean
  /** The server's review of what would be approved has arrived, or will not. */
  known: boolean
  /** The input can be parsed and all required answers are given. */
  valid: boolean
  level: Level | undefined
  /** Claude Code recommends denying this. */
  defaultToNo: boolean
  /** Claude Code requires this to be opened and decided individually. */
  individualOnly?: boolean
  /** The person has held the button or typed the word. */
  confirmed: boolean
}

export interface Rect {
  x: number
  y: number
  width: number
  height: number
}

/** ButtonSnapshot describes a button when a pointer went down on it, or came up. */
export interface ButtonSnapshot {
  request: string
  control: string
  rect: Rect
  /** How long it had been on screen in this place, in ms. */
  stillFor: number
  /** Whether it was enabled. */
  free: boolean
}

/** How is how the person decides; absent while nothing is pressed. */
export type How =
  | { by: 'pointer'; down: ButtonSnapshot | null; up: ButtonSnapshot }
  /** inside: the focus was in the card, and the card on screen, before the key went down. */
  | { by: 'key'; repeat: boolean; inside: boolean }
  /** Together with others, by one confirmation; group when they are of one session. */
  | { by: 'batch'; open: boolean; group?: boolean }

export type Obstacle =
  | 'rights'
  | 'phase'
  | 'stale'
  | 'unarmed'
  | 'others'
  | 'unseen'
  | 'unknown'
  | 'invalid'
  | 'unconfirmed'
  | 'pointer'
  | 'key'
  | 'batch'

/**
 * armedFrom returns when a card accepts decisions, in ms. focused is null if the window did not lose
 * the focus, moved is null if the hand has not decided anything yet.
 */
export function armedFrom(shown: number, focused: number | null, moved: number | null = null): number {
  return Math.max(
    shown + AFTER_SHOWN_MS,
    focused === null ? 0 : focused + AFTER_FOCUS_MS,
    moved === null ? 0 : moved + AFTER_SHOWN_MS,
  )
}

/** needsConfirmation reports whether approving needs holding the button or typing a word. */
export const needsConfirmation = (facts: Pick<Facts, 'level' | 'defaultToNo'>): boolean =>
  facts.level === 'high' || facts.defaultToNo

/** obstacle returns the first reason why an act is not possible now, null if there is none. */
export function obstacle(act: Act, facts: Facts, how?: How): Obstacle | null {
  if (!facts.mayAnswer || (act === 'approve' && !facts.mayApprove)) return 'rights'
  if (facts.phase !== 'open' && !(act === 'deny' && facts.phase === 'held' && facts.deniable)) return 'phase'
  if (facts.stale) return 'stale'
  if (!facts.armed) return 'unarmed'
  if (facts.othersWrite) return 'others'
  // A denial does no harm, even unread.
  if (act === 'answer' && !facts.valid) return 'invalid'
  if (act === 'approve') {
    if (!facts.seen) return 'unseen'
    if (!facts.known) return 'unknown'
    if (!facts.valid) return 'invalid'
    if (how && needsConfirmation(facts) && !facts.confirmed) return 'unconfirmed'
  }
  switch (how?.by) {
    case 'pointer':
      return how.down && isSamePress(how.down, how.up) ? null : 'pointer'
    case 'key':
      return how.inside && !how.repeat ? null : 'key'
    case 'batch':
      return act === 'approve' &&
        how.open &&
        (facts.level === 'low' || (how.group === true && facts.level === 'medium')) &&
        !facts.defaultToNo &&
        !facts.individualOnly
        ? null
        : 'batch'
  }
  return null
}

/** Reports whether a press started and ended on the same button of the same card, in the same place. */
function isSamePress(down: ButtonSnapshot, up: ButtonSnapshot): boolean {
  return (
    down.free &&
    down.request === up.request &&
    down.control === up.control &&
    down.stillFor >= STILL_MS &&
    samePlace(down.rect, up.rect)
  )
}

export const samePlace = (a: Rect, b: Rect): boolean =>
  Math.abs(a.x - b.x) <= SAME_PX &&
  Math.abs(a.y - b.y) <= SAME_PX &&
  Math.abs(a.width - b.width) <= SAME_PX &&
  Math.abs(a.height - b.height) <= SAME_PX

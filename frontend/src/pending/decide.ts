import type { Level, Request } from '@/wire/messages.gen'
import type { Phase } from './phase'

// The one rule that says whether a request may be decided now. Buttons, keys, the
// list, the batch and the tests all ask it; nothing else in the app knows any part
// of it. It is pure: what it needs to know is in its arguments.

/** A card just shown takes no decision: the press was meant for something else. */
const AFTER_SHOWN_MS = 600
/** Nor does a page just come back to: the key may be buffered from another window. */
const AFTER_FOCUS_MS = 500
/** How long a button has to be where it is before a pointer may press it. */
export const STILL_MS = 600
/** Rectangles that differ by less are of one place: layout rounds. */
const SAME_PX = 2

/** What somebody wants to do with a request: a question is answered, everything else approved or denied. */
export type Act = 'approve' | 'answer' | 'deny'

export interface Facts {
  /** Whether the moment after the card appeared, or after the window was come back to, is over. */
  armed: boolean
  /** The page slept and shows what was. */
  stale: boolean
  phase: Phase['kind']
  /** What is held is an approval: denying ends it. */
  deniable?: boolean
  mayAnswer: boolean
  /** The rules of the project and its roles leave the approval to this person. */
  mayApprove: boolean
  /** Somebody else writes the answer, and this person has not taken over. */
  othersWrite: boolean
  /** The end of what would be approved was on screen. */
  seen: boolean
  /** The server's review of what would be approved has come, or will not. */
  known: boolean
  /** What would be sent can be read: an edited input, the required answers. */
  valid: boolean
  level: Level | undefined
  /** Claude Code says that the answer to this is no unless somebody insists. */
  defaultToNo: boolean
  /** Claude Code demands that it is opened and decided by itself. */
  ownLook?: boolean
  /** The danger was confirmed, by holding the button or by typing the word. */
  confirmed: boolean
}

export interface Rect {
  x: number
  y: number
  width: number
  height: number
}

/** A button at the moment when a finger went down on it, or when it came up. */
export interface Sight {
  request: string
  control: string
  rect: Rect
  /** For how long it had been on screen and in its place, ms. */
  stillFor: number
  /** Whether it took the decision then. */
  free: boolean
}

/** How it is to be decided; absent while nobody presses anything. */
export type How =
  | { by: 'pointer'; down: Sight | null; up: Sight }
  /** inside: the focus was in the card, and the card on screen, before the key went down. */
  | { by: 'key'; repeat: boolean; inside: boolean }
  /** Together with others, by one confirmation. */
  | { by: 'batch'; open: boolean }

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

/** When a card takes decisions, ms; focused is null for a window that was not left. */
export function armedFrom(shown: number, focused: number | null): number {
  return Math.max(shown + AFTER_SHOWN_MS, focused === null ? 0 : focused + AFTER_FOCUS_MS)
}

/** Whether approving takes a second act: it is held, or a word is typed. */
export const needsConfirmation = (facts: Pick<Facts, 'level' | 'defaultToNo'>): boolean =>
  facts.level === 'high' || facts.defaultToNo

/** Whether Claude Code demands that a request is opened and decided by itself. */
export const needsOwnLook = (
  r: Pick<Request, 'default_to_no' | 'requires_user_interaction' | 'matched_ask_rule' | 'classifier_approvable'>,
): boolean =>
  r.default_to_no === true ||
  r.requires_user_interaction === true ||
  !!r.matched_ask_rule ||
  r.classifier_approvable === false

/** Returns what stands in the way of an act, the first of several; null when nothing does. */
export function obstacle(act: Act, facts: Facts, how?: How): Obstacle | null {
  if (!facts.mayAnswer || (act === 'approve' && !facts.mayApprove)) return 'rights'
  if (facts.phase !== 'open' && !(act === 'deny' && facts.phase === 'held' && facts.deniable)) return 'phase'
  if (facts.stale) return 'stale'
  if (!facts.armed) return 'unarmed'
  if (facts.othersWrite) return 'others'
  // Denying does no harm unseen.
  if (act === 'answer' && !facts.valid) return 'invalid'
  if (act === 'approve') {
    if (!facts.seen) return 'unseen'
    if (!facts.known) return 'unknown'
    if (!facts.valid) return 'invalid'
    if (how && needsConfirmation(facts) && !facts.confirmed) return 'unconfirmed'
  }
  switch (how?.by) {
    case 'pointer':
      return how.down && standsStill(how.down, how.up) ? null : 'pointer'
    case 'key':
      return how.inside && !how.repeat ? null : 'key'
    case 'batch':
      return act === 'approve' && how.open && facts.level === 'low' && !facts.defaultToNo && !facts.ownLook
        ? null
        : 'batch'
  }
  return null
}

/** Whether one button of one card was pressed, and was there to be seen before. */
function standsStill(down: Sight, up: Sight): boolean {
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

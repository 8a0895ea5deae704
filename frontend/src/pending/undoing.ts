import { kept } from '@/ui/appearance'

/** Which answers the server holds for a moment so that they can be taken back. */
export const UNDO = ['risky', 'always', 'never'] as const
export const undoing = kept('undo', UNDO)

/** For how long, in seconds. */
export const UNDO_FOR = ['3', '5', '10'] as const
export const undoFor = kept('undoFor', UNDO_FOR)

/** What goes with an answer; risky is what a card shows in red, and a batch. */
export const undoable = (risky: boolean): { undo_ms?: number } =>
  (undoing.value === 'always' || (risky && undoing.value === 'risky') ? { undo_ms: Number(undoFor.value) * 1_000 } : {})

/** The seconds until an answer counts, by the server's clock. */
export const leftOf = (held: { at: number; until: number }, now: number): number =>
  Math.min(Math.ceil(held.until - held.at), Math.max(0, Math.ceil(held.until - now)))

/**
 * Whether a key takes back what was decided. In a field it takes back what was
 * typed there; one that is empty, as the composer to which the focus goes after a
 * decision, has nothing to take back.
 */
export function isUndo(ev: KeyboardEvent): boolean {
  if (ev.defaultPrevented || ev.key.toLowerCase() !== 'z' || ev.shiftKey || ev.altKey || !(ev.ctrlKey || ev.metaKey)) return false
  const at = ev.target as HTMLElement
  return !at.isContentEditable && !at.matches?.('[data-writes]') && !(at.matches?.('input, textarea') && (at as HTMLInputElement).value !== '')
}

import { call } from '@/connection/rest'
import { useSessions } from '@/state/sessions'
import type { Level } from '@/wire/messages.gen'
import { useChoice } from '@/ui/appearance'

/**
 * What the undo window applies to: approvals by touch, above low risk and in bulk;
 * those of high risk and in bulk; every decision; nothing.
 */
export const UNDO = ['usual', 'high', 'always', 'never'] as const
export const undoing = useChoice('undo', UNDO)

/** The length of the undo window, in seconds. */
export const UNDO_FOR = ['3', '5', '10'] as const
export const undoFor = useChoice('undoFor', UNDO_FOR)

/** Given is how a decision was made. */
export interface Given {
  decision: 'allow' | 'deny'
  /** By touch; a question answered by keyboard or mouse counts at once. */
  touch: boolean
  /** The risk level; undefined while unknown, null for a question. */
  level: Level | null | undefined
  /** Together with others. */
  bulk?: boolean
}

function covered({ decision, touch, level, bulk = false }: Given): boolean {
  switch (undoing.value) {
    case 'always':
      return true
    case 'high':
      return decision === 'allow' && (bulk || level === 'high')
    case 'usual':
      return decision === 'allow' && (bulk || touch || (level !== 'low' && level !== null))
    case 'never':
      return false
  }
}

/** undoable returns the fields with which a decision can be undone. */
export const undoable = (given: Given): { undo_ms?: number } =>
  covered(given) ? { undo_ms: Number(undoFor.value) * 1_000 } : {}

/** secondsLeft returns the seconds until an answer counts, by the server's clock. */
export const secondsLeft = (held: { at: number; until: number }, now: number): number =>
  Math.min(Math.ceil(held.until - held.at), Math.max(0, Math.ceil(held.until - now)))

/**
 * isUndo reports whether a key undoes the last decision. In a field, it undoes typing instead; in
 * an empty field, such as the composer that gets the focus after a decision, there is nothing else
 * to undo.
 */
export function isUndo(ev: KeyboardEvent): boolean {
  if (ev.defaultPrevented || ev.key.toLowerCase() !== 'z' || ev.shiftKey || ev.altKey || !(ev.ctrlKey || ev.metaKey))
    return false
  const at = ev.target as HTMLElement
  return (
    !at.isContentEditable &&
    !at.matches?.('[data-writes]') &&
    !(at.matches?.('input, textarea') && (at as HTMLInputElement).value !== '')
  )
}

/** undoAnswers undoes the answers that this tab sees as held. It throws the first error. */
export async function undoAnswers(requestIDs: readonly string[]): Promise<void> {
  const { requests } = useSessions()
  const all = await Promise.allSettled(
    requestIDs.map((id) => {
      const answer = requests.find(({ request }) => request.request_id === id)?.request.held?.command_id
      return call<unknown>('POST', `/api/pending/${encodeURIComponent(id)}/undo`, answer ? { answer } : {})
    }),
  )
  for (const one of all) if (one.status === 'rejected') throw one.reason
}

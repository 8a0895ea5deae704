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

/** How long the undo window is, in seconds. */
export const UNDO_FOR = ['3', '5', '10'] as const
export const undoFor = useChoice('undoFor', UNDO_FOR)

/** How a decision was given. */
export interface Given {
  decision: 'allow' | 'deny'
  /** By a finger; a question that is answered with a keyboard or a mouse counts at once. */
  touch: boolean
  /** Of what is approved; undefined while unknown, null for a question. */
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

/** What goes with a decision so that it can be undone. */
export const undoable = (given: Given): { undo_ms?: number } =>
  covered(given) ? { undo_ms: Number(undoFor.value) * 1_000 } : {}

/** The seconds until an answer counts, by the server's clock. */
export const leftOf = (held: { at: number; until: number }, now: number): number =>
  Math.min(Math.ceil(held.until - held.at), Math.max(0, Math.ceil(held.until - now)))

/**
 * Whether a key takes back what was decided. In a field it takes back what was
 * typed there; one that is empty, as the composer to which the focus goes after a
 * decision, has nothing to take back.
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

/** Undoes the answers that are seen here to be held, and none given since; it throws the first error of those that cannot be undone. */
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

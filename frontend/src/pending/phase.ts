import { answerTo, type Entry } from '@/wire/commands'
import { t } from '@/i18n'
import type { Ack } from '@/wire/messages.gen'

/** Phase is the progress of this tab's answer to a request. */
export type Phase =
  | { kind: 'open'; refused: string | null }
  | { kind: 'sending'; commandID: string }
  | { kind: 'unconfirmed'; commandID: string }
  | { kind: 'queued'; commandID: string; cancellable: boolean }
  /** The server has it; the card closes when a new state no longer contains the request. */
  | { kind: 'taken' }
  /** An answer, of this tab or another person, is held and can be undone. */
  | { kind: 'held' }
  | { kind: 'late'; ack: Ack }

const CONFIRM_WITHIN_MS = 5_000

export function phaseOf(
  requestID: string,
  entries: readonly Entry[],
  acked: Ack | undefined,
  connected: boolean,
  now: number,
): Phase {
  const entry = answerTo(entries, requestID)
  if (entry) {
    const commandID = entry.command.command_id
    if (!connected) return { kind: 'queued', commandID, cancellable: entry.sent_at === null }
    if (entry.sent_at !== null && now - entry.sent_at > CONFIRM_WITHIN_MS) return { kind: 'unconfirmed', commandID }
    return { kind: 'sending', commandID }
  }
  switch (acked?.result) {
    case undefined:
      return { kind: 'open', refused: null }
    case 'applied':
      return { kind: 'taken' }
    case 'already_resolved':
    case 'stale':
      return { kind: 'late', ack: acked }
    case 'rejected':
      return { kind: 'open', refused: acked.error ? t.translateReason(acked.error.message, acked.error) : '' }
  }
}

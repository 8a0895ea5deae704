import type { PendingRequestResponse, SendMessage } from './messages.gen'

/** DurableCommand is a command that must not be lost: what a person wrote or decided. */
export type DurableCommand = PendingRequestResponse | SendMessage

/** Entry is a command that the server has not acknowledged. Times are milliseconds. */
export interface Entry {
  readonly command: DurableCommand
  readonly created_at: number
  /** When it was last written to a connection; null when it never was. */
  readonly sent_at: number | null
}

/** answerTo returns the answer to a request that is in flight, if any. */
export function answerTo(entries: readonly Entry[], requestID: string): Entry | undefined {
  return entries.find((e) => e.command.type === 'pending_request_response' && e.command.request_id === requestID)
}

import { inject, type InjectionKey } from 'vue'
import type { Attachment, PendingRequestResponse, Showing } from '@/wire/messages.gen'

export type Answer = Omit<PendingRequestResponse, 'type' | 'command_id'>

/** What components may ask of the connection. */
export interface Port {
  /** Sends a person's answer, now or as soon as there is a connection. */
  answer(answer: Answer): void
  /** Sends a message to Claude, now or as soon as there is a connection. */
  say(sessionID: string, text: string, attachments?: Attachment[]): void
  /** Takes back what has not reached the server; false when it may have. */
  cancel(commandID: string): boolean
  /** Follows the transcript of a session until the returned function is called. */
  follow(sessionID: string): () => void
  /** Tells the others that the person is writing. */
  typing(sessionID: string, requestID?: string): void
  /** Keeps what is half written for the other devices; the command's id, null when there is no connection. */
  draft(of: { session_id?: string; request_id?: string }, value: unknown): string | null
  /** Tells what is on the screen, so that what waits there is told nowhere else. */
  showing(what: Showing): void
  /** Asks for a session that is not known here; false when there is none. */
  find(sessionID: string): Promise<boolean>
  /** Asks the server anew for the sessions that have ended. */
  refresh(): Promise<void>
  retryNow(): void
}

export const portKey: InjectionKey<Port> = Symbol('port')

export function usePort(): Port {
  const port = inject(portKey)
  if (!port) throw new Error('no port was provided')
  return port
}

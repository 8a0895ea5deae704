import { inject, type InjectionKey } from 'vue'
import type { AckResult, Attachment, PendingRequestResponse, Showing } from '@/wire/messages.gen'

export type Answer = Omit<PendingRequestResponse, 'type' | 'command_id'>

/** Port is what components can do with the connection. */
export interface Port {
  /** Sends a person's answer now, or when there is a connection. */
  answer(answer: Answer): void
  /** Sends a message to Claude now, or when there is a connection. */
  sendMessage(sessionID: string, text: string, attachments?: Attachment[]): void
  /** Cancels a command that was never sent, and reports whether it did. */
  cancel(commandID: string): boolean
  /** Subscribes to the transcript of a session until the returned function is called. */
  follow(sessionID: string): () => void
  /** Shows others that the person is typing. */
  typing(sessionID: string, requestID?: string): void
  /**
   * Sends a draft to the person's other devices. It returns the id of the command, null without a
   * connection. refused is called if the server does not store it.
   */
  draft(
    of: { session_id?: string; request_id?: string },
    value: unknown,
    refused: (result: AckResult) => void,
  ): string | null
  /** Reports what is on the screen, so that requests visible here cause no alerts elsewhere. */
  showing(what: Showing): void
  /** Fetches a session that is not known here, and reports whether it exists. */
  find(sessionID: string): Promise<boolean>
  /** Fetches the list of ended sessions again. */
  refresh(): Promise<void>
  retryNow(): void
}

export const portKey: InjectionKey<Port> = Symbol('port')

export function usePort(): Port {
  const port = inject(portKey)
  if (!port) throw new Error('no port was provided')
  return port
}

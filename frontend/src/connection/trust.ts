import type { FolderTrust } from '@/wire/messages.gen'
import { uuid } from './uuid'

/**
 * Consent is a person's decision about the settings of a folder, as fields of the commands that
 * start Claude.
 */
export type Consent = { trust: string } | { without_settings: true }

type Ask = (trust: FolderTrust) => Promise<Consent | null>

let ask: Ask = () => Promise.resolve(null)

/**
 * onTrustRequired registers the function that asks a person about the settings of a folder; null
 * means that Claude is not started.
 */
export function onTrustRequired(next: Ask): void {
  ask = next
}

/** requireTrust asks a person about the settings of a folder; null means that Claude is not started. */
export const requireTrust = (trust: FolderTrust): Promise<Consent | null> => ask(trust)

/**
 * withTrust makes a call that starts Claude in a folder. If it is refused because nobody trusts the
 * folder's settings, withTrust asks a person and repeats the call, as a new command, with their
 * decision. If they decide not to start, it throws the refusal.
 */
export async function withTrust<T>(
  call: (more: (Consent & { command_id: string }) | object) => Promise<T>,
): Promise<T> {
  for (let more = {}; ;) {
    try {
      return await call(more)
    } catch (err) {
      const trust = (err as { trust?: FolderTrust | null }).trust
      const consent = trust && (await requireTrust(trust))
      if (!consent) throw err
      more = { ...consent, command_id: uuid() }
    }
  }
}

import type { FolderTrust } from '@/wire/messages.gen'
import { uuid } from './uuid'

/** Consent is what a person says to the settings of a folder, as the commands that start Claude carry it. */
export type Consent = { trust: string } | { without_settings: true }

type Ask = (trust: FolderTrust) => Promise<Consent | null>

let ask: Ask = () => Promise.resolve(null)

/** onTrustRequired registers who asks a person about the settings of a folder; null means do not start. */
export function onTrustRequired(next: Ask): void {
  ask = next
}

/** requireTrust resolves with what the person says to the settings of a folder; null when they do not start. */
export const requireTrust = (trust: FolderTrust): Promise<Consent | null> => ask(trust)

/**
 * withTrust makes a call that starts Claude in a folder. When it is refused because
 * nobody trusts the folder's settings, it asks a person and tries again with their
 * answer, as a new command. It throws the refusal when the person does not start.
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

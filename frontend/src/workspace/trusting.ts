import { uuid } from '@/core/uuid'
import type { FolderTrust } from '@/wsapi/messages.gen'
import type { Consent } from './consent'

/** An error that says which settings nobody has trusted. */
interface Distrust {
  trust: FolderTrust | null
}

/** Shows what the settings of a folder would do; null when the person does not start. */
export const ask = async (trust: FolderTrust): Promise<Consent | null> => (await import('./ask')).ask(trust)

/**
 * Makes a call that starts Claude in a folder. When it is refused for the
 * folder's settings the person sees them, and what they say goes along with the
 * next try, which is a command of its own. Who does not start gets the refusal.
 */
export async function trusting<T>(call: (more: (Consent & { command_id: string }) | object) => Promise<T>): Promise<T> {
  for (let more = {}; ;) {
    try {
      return await call(more)
    } catch (err) {
      const trust = (err as Distrust).trust
      const consent = trust && (await ask(trust))
      if (!consent) throw err
      more = { ...consent, command_id: uuid() }
    }
  }
}

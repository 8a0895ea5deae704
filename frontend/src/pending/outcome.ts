import { t } from '@/i18n'
import { useSessions } from '@/session/sessions'
import type { Resolved } from '@/wsapi/messages.gen'

/** What is said of a request that ended otherwise than by this tab. */
export function sentenceOf(resolved: Resolved | undefined, died: string | null, orphaned = false): string {
  const p = t.pending.ended
  // Of an orphaned request no transcript tells the end.
  if (!resolved) return orphaned ? p.orphan : died === null ? p.stale : p.died(died)
  switch (resolved.outcome) {
    case 'answered':
    case 'denied': {
      const store = useSessions()
      const seconds = Date.now() / 1000 + store.state.skew - resolved.at
      return p.elsewhere(resolved.by, resolved.device, seconds, resolved.summary)
    }
    case 'withdrawn':
      return died === null ? p.withdrawn : p.died(died)
    case 'expired':
      return p.expired(new Date((resolved.at - useSessions().state.skew) * 1000))
    case 'open':
    case 'orphaned':
      return p.stale
  }
}

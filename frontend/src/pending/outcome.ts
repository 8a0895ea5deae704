import { translate } from '@/i18n'
import type { Exit } from '@/state/reducer'
import { useSessions } from '@/state/sessions'
import type { Request, Resolved } from '@/wire/messages.gen'
import { askerPhrase } from './asker'
import { words } from './words'

/** outcomeText returns the sentence about a request that was not resolved by this tab. */
export function outcomeText(request: Request, resolved: Resolved | undefined, exit: Exit | null): string {
  const p = words.ended
  const { skew } = useSessions().state
  if (!resolved) {
    // The transcript does not contain the end of an orphaned request.
    if (request.status === 'orphaned') return p.orphan
    if (exit) return p.died(reasonOf(exit))
    // The clock shows that a request has expired before anything else does.
    const over = request.expires_at !== null && Date.now() / 1000 + skew >= request.expires_at
    return over ? p.expired(new Date((request.expires_at! - skew) * 1000), askerPhrase(request)) : p.stale
  }
  switch (resolved.outcome) {
    case 'answered':
    case 'denied':
      return p.elsewhere(
        resolved.by,
        resolved.device,
        Date.now() / 1000 + skew - resolved.at,
        translate(resolved, 'summary'),
      )
    case 'withdrawn':
      if (exit) return p.died(reasonOf(exit))
      return resolved.summary ? closed(translate(resolved, 'summary')) : p.withdrawn(askerPhrase(request))
    case 'expired':
      return p.expired(new Date((resolved.at - skew) * 1000), askerPhrase(request))
    case 'open':
    case 'orphaned':
      return p.stale
  }
}

const reasonOf = (exit: Exit) => translate(exit, 'error') || translate(exit, 'kill_reason')
const closed = (sentence: string) => (/[.!?…]$/.test(sentence) ? sentence : `${sentence}.`)

import { t } from '@/i18n'
import { useSessions } from '@/state/sessions'
import type { Request, Resolved } from '@/wire/messages.gen'
import { whoOf } from './asker'

/** What is said of a request that ended otherwise than by this tab. */
export function sentenceOf(request: Request, resolved: Resolved | undefined, exitReason: string | null): string {
  const p = t.pending.ended
  const { skew } = useSessions().state
  if (!resolved) {
    // Of an orphaned request no transcript tells the end.
    if (request.status === 'orphaned') return p.orphan
    if (exitReason !== null) return p.died(t.said(exitReason))
    // What runs out is told by the clock before anything else tells it.
    const over = request.expires_at !== null && Date.now() / 1000 + skew >= request.expires_at
    return over ? p.expired(new Date((request.expires_at! - skew) * 1000), whoOf(request)) : p.stale
  }
  switch (resolved.outcome) {
    case 'answered':
    case 'denied':
      return p.elsewhere(resolved.by, resolved.device, Date.now() / 1000 + skew - resolved.at, resolved.summary)
    case 'withdrawn':
      if (exitReason !== null) return p.died(t.said(exitReason))
      return resolved.summary ? closed(t.said(resolved.summary)) : p.withdrawn(whoOf(request))
    case 'expired':
      return p.expired(new Date((resolved.at - skew) * 1000), whoOf(request))
    case 'open':
    case 'orphaned':
      return p.stale
  }
}

const closed = (sentence: string) => (/[.!?…]$/.test(sentence) ? sentence : `${sentence}.`)

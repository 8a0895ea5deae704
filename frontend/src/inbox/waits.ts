import type { WaitList } from '@/wire/messages.gen'
import { call } from '@/connection/rest'

/**
 * Returns how long Claude has waited for people in a session since midnight in this time zone, in
 * seconds. `skew` is the server's clock minus ours, in seconds.
 */
export async function waitedToday(sessionID: string, skew: number): Promise<number> {
  const start = new Date()
  start.setHours(0, 0, 0, 0)
  const { waits } = await call<WaitList>('GET', `/api/waits?since=${start.getTime() / 1000 + skew}`)
  return Math.floor(waits.find((w) => w.session_id === sessionID)?.waited ?? 0)
}

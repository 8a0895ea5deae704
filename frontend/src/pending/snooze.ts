import { computed, ref } from 'vue'
import { useStored } from '@/browser/useStored'
import { ownKey } from '@/connection/owner'
import { announce } from '@/ui/announce'
import { words } from './words'

const SNOOZE_MS = 10 * 60_000

// The end of each snooze, by request_id. It applies only to this browser, so one
// person's snooze delays nobody else.
const stored = useStored<readonly [string, number][]>(
  () => ownKey('snoozed'),
  [],
  (text) => {
    const list: unknown = JSON.parse(text)
    if (!Array.isArray(list)) return undefined
    return list.filter(
      (e): e is [string, number] =>
        Array.isArray(e) && typeof e[0] === 'string' && typeof e[1] === 'number' && e[1] > Date.now(),
    )
  },
)
const until = computed(() => new Map(stored.value))

/** When this tab last snoozed a request, in ms, so that a slowly ticking clock can catch up with it. */
export const snoozedAt = ref(0)

export const snoozedUntil = (requestID: string, now: number): number | null => {
  const at = until.value.get(requestID)
  return at !== undefined && at > now ? at : null
}

/** Snoozes a request, or ends its snooze. It reports whether the request is snoozed now. */
export function snooze(requestID: string, now: number): boolean {
  const off = snoozedUntil(requestID, now) === null
  const others = stored.value.filter(([id, at]) => id !== requestID && at > now)
  stored.value = off ? [...others, [requestID, now + SNOOZE_MS]] : others
  snoozedAt.value = now
  return off
}

/** toggleSnooze does the same at a person's request, and announces the result. */
export function toggleSnooze(requestID: string): boolean {
  const is = snooze(requestID, Date.now())
  announce(is ? words.snooze.hint : words.snooze.ended)
  return is
}

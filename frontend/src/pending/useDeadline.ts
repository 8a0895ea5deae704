import { computed, reactive, watch } from 'vue'
import { rest } from '@/connection/rest'
import { useAction } from '@/connection/useAction'
import { useSessions } from '@/state/sessions'
import { announce } from '@/ui/announce'
import { useNow } from '@/ui/clock'
import { duration } from '@/ui/numbers'
import type { Request } from '@/wire/messages.gen'
import { words } from './words'

/** The latest expiry to which the server extends a request, in seconds from now. */
const MAX_S = 1_800
/** The remaining seconds at which the deadline is announced. */
const ANNOUNCE_AT_S = [300, 60, 20]

export interface Deadline {
  /** Seconds until the request expires; null if it does not. */
  readonly left: number | null
  readonly extendable: boolean
  readonly extending: boolean
  /** Why the last extension failed, '' if it did not. */
  readonly problem: string
  extend(): Promise<void>
}

/** useDeadline counts down to the expiry of a request, announces it, and extends it. */
export function useDeadline(request: () => Request, answerable: () => boolean): Deadline {
  const store = useSessions()
  const now = useNow(1000)
  const left = computed(() => {
    const { expires_at } = request()
    return expires_at === null ? null : expires_at - now.value / 1000 - store.state.skew
  })
  const extendable = computed(() => {
    const { expires_at, created_at } = request()
    return expires_at !== null && answerable() && expires_at - created_at < MAX_S - 1
  })
  const { busy: extending, error: problem, run } = useAction()

  watch(left, (seconds, before) => {
    if (seconds === null || typeof before !== 'number') return
    const passed = ANNOUNCE_AT_S.find((s) => seconds <= s && before > s)
    if (passed !== undefined) announce(words.closesSoon(duration(passed)), passed === ANNOUNCE_AT_S.at(-1))
  })

  return reactive({
    left,
    extendable,
    extending,
    problem,
    async extend() {
      await run(async () => void (await rest.extend(request().request_id)))
    },
  })
}

import { onScopeDispose, ref, type Ref } from 'vue'

const clocks = new Map<number, { now: Ref<number>; users: number; timer: ReturnType<typeof setInterval> }>()

/** The time, milliseconds, renewed every `everyMs`; one timer for all who share a pace. */
export function useNow(everyMs: number): Readonly<Ref<number>> {
  let clock = clocks.get(everyMs)
  if (!clock) {
    const now = ref(Date.now())
    clock = { now, users: 0, timer: setInterval(() => (now.value = Date.now()), everyMs) }
    clocks.set(everyMs, clock)
  }
  // Who comes between two ticks takes the last: a new time is a new rendering of all who tell it.
  if (Date.now() - clock.now.value >= everyMs) clock.now.value = Date.now()
  clock.users++
  const mine = clock
  onScopeDispose(() => {
    if (--mine.users > 0) return
    clearInterval(mine.timer)
    clocks.delete(everyMs)
  })
  return clock.now
}

import { onScopeDispose, ref, type Ref } from 'vue'

const clocks = new Map<number, { now: Ref<number>; users: number; timer: ReturnType<typeof setInterval> }>()

/** useNow returns the time in milliseconds, updated every `everyMs`. Callers with the same interval share a timer. */
export function useNow(everyMs: number): Readonly<Ref<number>> {
  let clock = clocks.get(everyMs)
  if (!clock) {
    const now = ref(Date.now())
    clock = { now, users: 0, timer: setInterval(() => (now.value = Date.now()), everyMs) }
    clocks.set(everyMs, clock)
  }
  // The time is constant between two ticks, because a new value renders all components that show it.
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

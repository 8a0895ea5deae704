import { useEventListener, useTimeoutFn } from '@vueuse/core'
import { computed } from 'vue'
import { useLoaded } from '@/connection/useLoaded'
import type { Process, ProcessSample } from '@/wire/messages.gen'
import { admin } from './rest'

// The states themselves come over the WebSocket. What only the server knows of a
// process (its pid, its viewers, its memory) is asked for at this pace, and only
// while the page is visible.
const EVERY_MS = 5_000
const SPAN_S = 5 * 60

export interface Vitals {
  process: Process
  /** Of the last five minutes, the oldest first. */
  samples: readonly ProcessSample[]
}

/** useVitals returns what is known of every process besides its state, kept up to date while the page is visible. */
export function useVitals() {
  // The server keeps the samples; all of them are asked for first, and after a pause.
  let withSamples = true

  async function load(): Promise<ReadonlyMap<string, Vitals>> {
    const { processes } = await admin.processes(withSamples)
    withSamples = false
    const now = Date.now() / 1000
    return new Map(
      processes.map((process) => {
        const before = vitals.value.get(process.session_id)?.samples ?? []
        const samples = process.samples ?? [...before, { at: now, memory: process.memory, cpu: process.cpu }]
        return [process.session_id, { process, samples: samples.filter((s) => s.at > now - SPAN_S) }]
      }),
    )
  }

  const { value, problem, loading, reload } = useLoaded(load)
  const vitals = computed<ReadonlyMap<string, Vitals>>(() => value.value ?? new Map())
  const next = useTimeoutFn(() => void refresh(), EVERY_MS)
  async function refresh(): Promise<void> {
    next.stop()
    await reload()
    if (!document.hidden) next.start()
  }
  useEventListener(document, 'visibilitychange', () => {
    if (document.hidden) return next.stop()
    withSamples = true
    void refresh()
  })
  return { vitals, problem, loading: computed(() => loading.value && value.value === null), refresh }
}

/** The points of a line of 100 by 20, the largest value at the top. */
export function line(values: readonly number[], least: number): string {
  if (values.length < 2) return ''
  const most = Math.max(least, ...values)
  return values
    .map((v, i) => `${((i / (values.length - 1)) * 100).toFixed(1)},${(19 - (v / most) * 18).toFixed(1)}`)
    .join(' ')
}

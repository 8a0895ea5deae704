import { useEventListener, useTimeoutFn } from '@vueuse/core'
import { computed } from 'vue'
import { useLoaded } from '@/connection/useLoaded'
import type { Process, ProcessSample } from '@/wire/messages.gen'
import { admin } from './rest'

// States arrive over the WebSocket. Data that only REST returns (pid, viewers, memory) is fetched at this
// interval while the page is visible.
const EVERY_MS = 5_000
const SPAN_S = 5 * 60

export interface Vitals {
  process: Process
  /** Of the last five minutes, oldest first. */
  samples: readonly ProcessSample[]
}

/** useVitals returns the data of every process besides its state, updated while the page is visible. */
export function useVitals() {
  // The server keeps the samples; all of them are fetched first, and again after a pause.
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

/** Returns the points of a line in a box of 100 by 20, with the largest value at the top. */
export function line(values: readonly number[], least: number): string {
  if (values.length < 2) return ''
  const most = Math.max(least, ...values)
  return values
    .map((v, i) => `${((i / (values.length - 1)) * 100).toFixed(1)},${(19 - (v / most) * 18).toFixed(1)}`)
    .join(' ')
}

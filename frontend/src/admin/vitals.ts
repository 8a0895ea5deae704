import { onBeforeUnmount, onMounted, shallowRef } from 'vue'
import type { Process, ProcessSample } from '@/wire/messages.gen'
import { sentence } from '@/connection/sentence'
import { admin } from './rest'

// The states themselves come over the WebSocket. What only the server knows of a
// process (its pid, who looks, how much it took) is asked for at this pace, and
// only while somebody can see it.
const EVERY_MS = 5_000
const SPAN_S = 5 * 60

export interface Vitals {
  process: Process
  /** Of the last five minutes, the oldest first. */
  samples: readonly ProcessSample[]
}

/** What is known of every process besides its state, kept up to date while the page is visible. */
export function useVitals() {
  const vitals = shallowRef<ReadonlyMap<string, Vitals>>(new Map())
  const problem = shallowRef('')
  const loading = shallowRef(true)
  let whole = true
  let timer: ReturnType<typeof setTimeout> | undefined
  let turn = 0

  async function look(): Promise<void> {
    const mine = ++turn
    clearTimeout(timer)
    if (!document.hidden) {
      try {
        const list = await admin.processes(whole)
        if (mine !== turn) return
        const now = Date.now() / 1000
        vitals.value = new Map(
          list.processes.map((process) => {
            const before = vitals.value.get(process.session_id)
            const samples = process.samples ?? [
              ...(before?.samples ?? []),
              { at: now, memory: process.memory, cpu: process.cpu },
            ]
            return [process.session_id, { process, samples: samples.filter((s) => s.at > now - SPAN_S) }]
          }),
        )
        // The ring is the server's: after a pause it is asked for whole again.
        whole = false
        problem.value = ''
      } catch (err) {
        if (mine !== turn) return
        problem.value = sentence(err)
      }
      loading.value = false
    } else whole = true
    timer = setTimeout(() => void look(), EVERY_MS)
  }
  const seen = () => !document.hidden && void look()
  onMounted(() => {
    document.addEventListener('visibilitychange', seen)
    void look()
  })
  onBeforeUnmount(() => {
    turn++
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', seen)
  })
  return { vitals, problem, loading, look }
}

/** The points of a line of 100 by 20, the largest value at the top. */
export function line(values: readonly number[], least: number): string {
  if (values.length < 2) return ''
  const most = Math.max(least, ...values)
  return values
    .map((v, i) => `${((i / (values.length - 1)) * 100).toFixed(1)},${(19 - (v / most) * 18).toFixed(1)}`)
    .join(' ')
}

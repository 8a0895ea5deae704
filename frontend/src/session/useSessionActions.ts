import { ref, watch, type Ref } from 'vue'
import { sentence } from '@/connection/sentence'
import type { SessionState } from '@/state/reducer'

/** What the header of a session does to it. */
export type SessionAction = 'interrupt' | 'resume' | 'mode' | 'model'

/**
 * useSessionActions runs one action on a session at a time. busy names the one that
 * runs: until the state shows what it did, not until the server has merely heard of it.
 * problem is the error of the last one; '' when there was none.
 */
export function useSessionActions(session: () => SessionState): {
  busy: Readonly<Ref<SessionAction | null>>
  problem: Ref<string>
  run: (action: SessionAction, call: () => Promise<unknown>) => Promise<void>
} {
  const busy = ref<SessionAction | null>(null)
  const problem = ref('')
  watch([() => session().state, () => session().permission_mode, () => session().model], () => (busy.value = null))
  watch(
    () => session().session_id,
    () => {
      busy.value = null
      problem.value = ''
    },
  )

  async function run(action: SessionAction, call: () => Promise<unknown>) {
    if (busy.value !== null) return
    busy.value = action
    problem.value = ''
    try {
      await call()
      if (action !== 'resume') busy.value = null
    } catch (err) {
      problem.value = sentence(err)
      busy.value = null
    }
  }
  return { busy, problem, run }
}

import { computed, ref, shallowRef, watch, type Ref } from 'vue'
import { useAction } from '@/connection/useAction'
import type { SessionState } from '@/state/reducer'

/** SessionAction is an action of the session header. */
export type SessionAction = 'interrupt' | 'resume' | 'mode' | 'model'

/**
 * useSessionActions runs one action on a session at a time. busy names the running action, until
 * the state of the session shows its effect. problem is the error of the last one, '' if it
 * succeeded.
 */
export function useSessionActions(session: () => SessionState): {
  busy: Readonly<Ref<SessionAction | null>>
  problem: Ref<string>
  run: (action: SessionAction, call: () => Promise<unknown>) => Promise<void>
} {
  const busy = ref<SessionAction | null>(null)
  // Another session has its own actions: one in flight for the session before does not block them.
  const current = shallowRef(useAction())
  const problem = computed({
    get: () => current.value.error.value,
    set: (text) => (current.value.error.value = text),
  })
  watch([() => session().state, () => session().permission_mode, () => session().model], () => {
    if (!current.value.busy.value) busy.value = null
  })
  watch(
    () => session().session_id,
    () => {
      busy.value = null
      current.value = useAction()
    },
  )

  async function run(action: SessionAction, call: () => Promise<unknown>) {
    if (busy.value !== null) return
    busy.value = action
    const mine = current.value
    const before = session().state
    const succeeded = await mine.run(async () => void (await call()))
    if (mine !== current.value) return
    if (action !== 'resume' || !succeeded || session().state !== before) busy.value = null
  }
  return { busy, problem, run }
}

import { useRouter } from 'vue-router'
import { RefusedError, rest } from '@/connection/rest'
import { useAction } from '@/connection/useAction'
import { uuid } from '@/connection/uuid'

/**
 * useDemo starts a demo session and opens it. Pressing again after a lost response starts no second session.
 */
export function useDemo() {
  const router = useRouter()
  const { busy, error, run } = useAction()
  let commandID = uuid()
  const start = () =>
    run(async () => {
      const made = await rest.create({ command_id: commandID, demo: true }).catch((err: unknown) => {
        if (err instanceof RefusedError) commandID = uuid()
        throw err
      })
      commandID = uuid()
      if (made.session_id) await router.push(`/sessions/${made.session_id}`)
    })
  return { busy, error, start }
}

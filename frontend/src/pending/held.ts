import { useSessions } from '@/state/sessions'
import { call } from '@/connection/rest'

/** Takes back the answers that are seen here to be held, and none given since; each that cannot be is an error, the first of which is thrown. */
export async function takeBack(requestIDs: readonly string[]): Promise<void> {
  const { requests } = useSessions()
  const all = await Promise.allSettled(
    requestIDs.map((id) => {
      const answer = requests.find(({ request }) => request.request_id === id)?.request.held?.command_id
      return call<unknown>('POST', `/api/pending/${encodeURIComponent(id)}/undo`, answer ? { answer } : {})
    }),
  )
  for (const one of all) if (one.status === 'rejected') throw one.reason
}

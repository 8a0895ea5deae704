import { createApp } from 'vue'
import { useSessions } from '@/session/sessions'
import { call } from '@/wsapi/rest'
import HeldToast from './HeldToast.vue'

let shown = false

/** Offers, from now on, to take back what the server holds of this person's answers. */
export function offerBack(): void {
  if (shown) return
  shown = true
  const host = document.createElement('div')
  document.body.append(host)
  createApp(HeldToast, { store: useSessions() }).mount(host)
}

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

import { createApp, type App } from 'vue'
import { onOwner } from '@/core/owner'
import { useSessions } from '@/session/sessions'
import UndoToast from './UndoToast.vue'

let shown: { app: App; host: HTMLElement } | null = null

function close() {
  shown?.app.unmount()
  shown?.host.remove()
  shown = null
}

onOwner(close)

/**
 * Offers to take a rule back that goes out with an approval. It is no part of the
 * card, which leaves with its request, and the newest offer replaces the one before.
 */
export function offerUndo(requestID: string, rule: string): void {
  close()
  const host = document.createElement('div')
  document.body.append(host)
  const app = createApp(UndoToast, { store: useSessions(), requestID, rule, onDone: close })
  app.mount(host)
  shown = { app, host }
}

import { createApp } from 'vue'
import type { FolderTrust } from '@/wsapi/messages.gen'
import TrustDialog from './TrustDialog.vue'
import type { Consent } from './consent'

/** Opens the dialog over whatever is open, and resolves with what the person says. */
export function ask(trust: FolderTrust): Promise<Consent | null> {
  return new Promise((resolve) => {
    const host = document.body.appendChild(document.createElement('div'))
    const dialog = createApp(TrustDialog, {
      trust,
      onDone(consent: Consent | null) {
        dialog.unmount()
        host.remove()
        resolve(consent)
      },
    })
    dialog.mount(host)
  })
}

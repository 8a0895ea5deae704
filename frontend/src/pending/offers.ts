import { onOwner } from '@/connection/owner'
import { hideToast, showToast } from '@/ui/toasts'
import HeldToast from './HeldToast.vue'
import UndoToast from './UndoToast.vue'

const RULE = 'undo-rule'
onOwner(() => hideToast(RULE))

/** offerUndo shows a toast with Undo while the server holds answers of this person. */
export function offerUndo(): void {
  showToast('undo', HeldToast)
}

/**
 * offerRuleUndo shows a toast with which the person can revoke a rule granted with an approval. The
 * toast stays after the card has closed; a newer one replaces it.
 */
export function offerRuleUndo(requestID: string, rule: string): void {
  showToast(RULE, UndoToast, { requestID, rule })
}

import { onOwner } from '@/connection/owner'
import { hideToast, showToast } from '@/ui/toasts'
import HeldToast from './HeldToast.vue'
import UndoToast from './UndoToast.vue'

const RULE = 'undo-rule'
onOwner(() => hideToast(RULE))

/** offerUndo offers, from now on, to undo what the server holds of this person's answers. */
export function offerUndo(): void {
  showToast('undo', HeldToast)
}

/**
 * offerRuleUndo offers to revoke a rule that goes out with an approval. The card
 * leaves with its request, so the offer is no part of it; a newer one replaces it.
 */
export function offerRuleUndo(requestID: string, rule: string): void {
  showToast(RULE, UndoToast, { requestID, rule })
}

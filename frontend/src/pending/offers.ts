import { onOwner } from '@/connection/owner'
import { useSessions } from '@/state/sessions'
import { answerTo } from '@/wire/commands'
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
 * offerRuleUndo shows a toast with which the person can revoke a rule, once the approval that is in
 * flight has granted it. The toast stays after the card has closed; a newer one replaces it.
 */
export function offerRuleUndo(requestID: string, rule: string): void {
  const commandID = answerTo(useSessions().outbox, requestID)?.command.command_id
  if (commandID !== undefined) showToast(RULE, UndoToast, { requestID, commandID, rule })
}

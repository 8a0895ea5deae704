import type { Request } from '@/wire/messages.gen'

/** Whether Claude Code demands that a request is opened and decided by itself. */
export const needsOwnLook = (
  r: Pick<Request, 'default_to_no' | 'requires_user_interaction' | 'matched_ask_rule' | 'classifier_approvable'>,
): boolean =>
  r.default_to_no === true ||
  r.requires_user_interaction === true ||
  !!r.matched_ask_rule ||
  r.classifier_approvable === false

import type { Request } from '@/wire/messages.gen'

/** needsIndividualReview reports whether Claude Code requires a request to be opened and decided on its own. */
export const needsIndividualReview = (
  r: Pick<Request, 'default_to_no' | 'requires_user_interaction' | 'matched_ask_rule' | 'classifier_approvable'>,
): boolean =>
  r.default_to_no === true ||
  r.requires_user_interaction === true ||
  !!r.matched_ask_rule ||
  r.classifier_approvable === false

/**
 * The permission modes offered here. bypassPermissions is not among them, because sayso is for
 * asking people.
 */
export const MODES = ['default', 'acceptEdits', 'plan'] as const

/** Model names that the CLI accepts for the newest model of each kind. */
export const MODELS = ['opus', 'sonnet', 'haiku'] as const

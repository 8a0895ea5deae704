/**
 * The permission modes that a person can choose here. The one that asks nothing
 * is not among them: a session in which nothing is asked needs no sayso.
 */
export const MODES = ['default', 'acceptEdits', 'plan'] as const

/** Names that the CLI takes for the newest model of each kind. */
export const MODELS = ['opus', 'sonnet', 'haiku'] as const

/**
 * The permission modes that a person can choose here. The one that asks nothing
 * is not among them: a session in which nothing is asked needs no sayso.
 */
export const MODES = ['default', 'acceptEdits', 'plan'] as const

import type { Role } from '@/wire/messages.gen'

const RANK: Record<Role, number> = { viewer: 1, member: 2, admin: 3 }
/** atLeast reports whether a role includes another. */
export const atLeast = (role: Role, want: Role) => RANK[role] >= RANK[want]

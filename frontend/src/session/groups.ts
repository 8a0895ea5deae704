import type { SessionState } from '@/state/reducer'
import { known, unseen } from './seen'

export type Group = 'waiting' | 'running' | 'your_turn' | 'idle' | 'ended'

/**
 * groupOf returns the group of a session. A session is idle if its turn has ended and the person
 * has seen everything.
 */
export function groupOf(s: SessionState): Group {
  if (s.pending_requests.length > 0) return 'waiting'
  switch (s.state) {
    case 'starting':
    case 'assistant_turn':
      return 'running'
    case 'user_turn':
      return unseen(s) > 0 ? 'your_turn' : 'idle'
    case 'dead':
      return 'ended'
  }
}

/**
 * unread returns how many blocks of a session the person has not seen. It is 0 while Claude works,
 * because more come anyway, and for ended sessions that were never opened here.
 */
export function unread(s: SessionState): number {
  const rests = s.pending_requests.length > 0 || s.state === 'user_turn' || (s.state === 'dead' && known(s.session_id))
  return rests ? unseen(s) : 0
}

/** Folder contains the sessions of one folder on one machine. */
export interface Folder {
  readonly cwd: string
  readonly node: string
  readonly ids: readonly string[]
}

const RANK: Record<Group, number> = { waiting: 0, running: 1, your_turn: 2, idle: 3, ended: 4 }

/**
 * byFolder returns folders by name, and in each the sessions that need the person, the longest
 * waiting first, then the running ones, those whose turn it is and the idle ones, newest first.
 * Ended sessions that the person has read are returned separately.
 */
export function byFolder(sessions: readonly SessionState[]): { folders: Folder[]; ended: string[] } {
  const folders = new Map<string, { cwd: string; node: string; of: SessionState[] }>()
  const ended: SessionState[] = []
  for (const s of sessions) {
    if (groupOf(s) === 'ended' && unread(s) === 0) {
      // An archived session is shown again while it runs or has a request.
      if (!s.archived) ended.push(s)
      continue
    }
    const key = `${s.node_id}\n${s.cwd}`
    const folder = folders.get(key)
    if (folder) folder.of.push(s)
    else folders.set(key, { cwd: s.cwd, node: s.node_id, of: [s] })
  }
  const compare = (a: SessionState, b: SessionState) => {
    const [group, other] = [groupOf(a), groupOf(b)]
    if (group !== other) return RANK[group] - RANK[other]
    if (group === 'waiting') return a.pending_requests[0]!.created_at - b.pending_requests[0]!.created_at
    return newest(a, b)
  }
  const ids = (list: SessionState[], by: typeof compare) => list.toSorted(by).map((s) => s.session_id)
  return {
    folders: [...folders.values()]
      .toSorted(
        (a, b) => folderName(a.cwd).localeCompare(folderName(b.cwd)) || (a.cwd + a.node < b.cwd + b.node ? -1 : 1),
      )
      .map(({ cwd, node, of }) => ({ cwd, node, ids: ids(of, compare) })),
    ended: ids(ended, newest),
  }
}

/** folderName returns the last element of a path. */
export const folderName = (path: string): string => path.split('/').findLast(Boolean) ?? path

const since = (s: SessionState) => (s.state === 'dead' ? s.updated_at : s.state_changed_at)
const newest = (a: SessionState, b: SessionState) => since(b) - since(a) || (a.session_id < b.session_id ? -1 : 1)

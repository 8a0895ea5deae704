import type { SessionState } from '@/state/reducer'
import { known, unseen } from './seen'

export type Group = 'waiting' | 'running' | 'your_turn' | 'idle' | 'ended'

/** Idle is whose turn has ended as a person has seen: nothing runs, and nothing is new. */
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
 * unread returns how many blocks came since a person looked, of a session that rests. While
 * something runs more comes by itself; what ended without ever being open here is history.
 */
export function unread(s: SessionState): number {
  const rests = s.pending_requests.length > 0 || s.state === 'user_turn' || (s.state === 'dead' && known(s.session_id))
  return rests ? unseen(s) : 0
}

/** The sessions of one folder on one machine. */
export interface Folder {
  readonly cwd: string
  readonly node: string
  readonly ids: readonly string[]
}

const RANK: Record<Group, number> = { waiting: 0, running: 1, your_turn: 2, idle: 3, ended: 4 }

/**
 * byFolder returns folders by name, and in each what waits longest first, then what runs, whose
 * turn it is and what is idle, newest first. What ended is apart once a person has read it.
 */
export function byFolder(sessions: readonly SessionState[]): { folders: Folder[]; ended: string[] } {
  const folders = new Map<string, { cwd: string; node: string; of: SessionState[] }>()
  const ended: SessionState[] = []
  for (const s of sessions) {
    if (groupOf(s) === 'ended' && unread(s) === 0) {
      // What was archived comes back by itself when it runs or asks.
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

/** The last name of a path. */
export const folderName = (path: string): string => path.split('/').findLast(Boolean) ?? path

const since = (s: SessionState) => (s.state === 'dead' ? s.updated_at : s.state_changed_at)
const newest = (a: SessionState, b: SessionState) => since(b) - since(a) || (a.session_id < b.session_id ? -1 : 1)

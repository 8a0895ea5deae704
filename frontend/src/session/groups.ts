import type { SessionState } from '@/state/reducer'
import { withoutWorktree } from '@/worktree/folder'
import { known, pinnedAt, unseen } from './seen'

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

/** Folder contains the sessions of one folder, and of its worktrees, on one machine. */
export interface Folder {
  readonly cwd: string
  readonly node: string
  readonly ids: readonly string[]
}

const RANK: Record<Group, number> = { waiting: 0, running: 1, your_turn: 2, idle: 3, ended: 4 }

/**
 * byFolder returns the pinned sessions, the one pinned first at the top; then folders by name, and in
 * each the sessions that need the person, the longest waiting first, then the running ones, those
 * whose turn it is and the idle ones, newest first. Ended sessions that the person has read are
 * returned separately. An archived session is listed only while it runs, has a request or is unread.
 */
export function byFolder(sessions: readonly SessionState[]): {
  pinned: readonly string[]
  folders: readonly Folder[]
  ended: readonly string[]
} {
  const folders = new Map<string, { cwd: string; node: string; of: Ranked[] }>()
  const pinned: { s: SessionState; at: number }[] = []
  const ended: Ranked[] = []
  for (const s of sessions) {
    const group = groupOf(s)
    const over = group === 'ended' && unread(s) === 0
    if (over && s.archived) continue
    const at = pinnedAt(s.session_id)
    if (at !== null) pinned.push({ s, at })
    else if (over) ended.push({ s, group })
    else {
      const cwd = withoutWorktree(s.cwd)
      const key = `${s.node_id}\n${cwd}`
      const folder = folders.get(key)
      if (folder) folder.of.push({ s, group })
      else folders.set(key, { cwd, node: s.node_id, of: [{ s, group }] })
    }
  }
  return {
    pinned: pinned.toSorted((a, b) => a.at - b.at || newest(a.s, b.s)).map(({ s }) => s.session_id),
    folders: [...folders.values()]
      .toSorted(
        (a, b) => folderName(a.cwd).localeCompare(folderName(b.cwd)) || (a.cwd + a.node < b.cwd + b.node ? -1 : 1),
      )
      .map(({ cwd, node, of }) => ({ cwd, node, ids: ids(of) })),
    ended: ids(ended),
  }
}

interface Ranked {
  readonly s: SessionState
  readonly group: Group
}

const ids = (list: Ranked[]) =>
  list
    .toSorted((a, b) => {
      if (a.group !== b.group) return RANK[a.group] - RANK[b.group]
      if (a.group === 'waiting') return a.s.pending_requests[0]!.created_at - b.s.pending_requests[0]!.created_at
      return newest(a.s, b.s)
    })
    .map(({ s }) => s.session_id)

/** folderName returns the last element of a path, in a worktree that of the folder it was created for. */
export const folderName = (path: string): string => withoutWorktree(path).split('/').findLast(Boolean) ?? path

const since = (s: SessionState) => (s.state === 'dead' ? s.updated_at : s.state_changed_at)
const newest = (a: SessionState, b: SessionState) => since(b) - since(a) || (a.session_id < b.session_id ? -1 : 1)

import { call, onMachine } from '@/connection/rest'
import type {
  CommitCreated,
  FolderInfo,
  FoundFiles,
  GitState,
  Worktree,
  WorktreeCreate,
  WorktreeCreated,
  WorktreeRemoved,
} from '@/wire/messages.gen'

const session = (id: string, path: string) => `/api/sessions/${encodeURIComponent(id)}${path}`
const folder = (path: string, query: Record<string, string>) =>
  `/api/folders/${path}?${new URLSearchParams(query).toString()}`

export const rest = {
  /** null if sessions cannot start at the path. */
  info: (cwd: string, runnerID = '') =>
    call<FolderInfo | null>('GET', folder('info', { cwd }) + onMachine('&', runnerID)),
  files: (cwd: string, q: string, signal: AbortSignal, runnerID = '') =>
    call<FoundFiles>('GET', folder('files', { cwd, q }) + onMachine('&', runnerID), undefined, signal),
  create: (body: WorktreeCreate) => call<WorktreeCreated>('POST', '/api/worktrees', body),
  git: (id: string) => call<GitState>('GET', session(id, '/git')),
  worktree: (id: string) => call<Worktree>('GET', session(id, '/worktree')),
  merge: (id: string, digest: string) => call<CommitCreated>('POST', session(id, '/worktree/merge'), { digest }),
  remove: (id: string, digest: string) => call<WorktreeRemoved>('POST', session(id, '/worktree/remove'), { digest }),
}

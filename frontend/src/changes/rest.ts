import { call, file } from '@/connection/rest'
import type {
  Changes,
  CommitCreated,
  FileComparison,
  FileContent,
  FolderEntries,
  FoundFiles,
  Rewind,
} from '@/wire/messages.gen'

export type Base = 'head' | 'branch' | 'turn'

const at = (id: string, path: string, query: Record<string, string> = {}) => {
  const text = new URLSearchParams(query).toString()
  return `/api/sessions/${encodeURIComponent(id)}${path}${text ? `?${text}` : ''}`
}

// messageID names the message that began the turn. Only the base "turn" uses it.
const against = (base: Base, messageID: string): Record<string, string> =>
  base === 'turn' ? { base, message_id: messageID } : { base }

export const rest = {
  changes: (id: string, base: Base, messageID: string) =>
    call<Changes>('GET', at(id, '/changes', against(base, messageID))),
  compare: (id: string, base: Base, path: string, oldPath: string | undefined, messageID: string) =>
    call<FileComparison>(
      'GET',
      at(id, '/changes/file', { ...against(base, messageID), path, ...(oldPath ? { old_path: oldPath } : {}) }),
    ),
  discard: (id: string, path: string, digest: string) =>
    call<null>('POST', at(id, '/changes/discard'), { path, digest }),
  commit: (id: string, message: string, paths: string[]) =>
    call<CommitCreated>('POST', at(id, '/changes/commit'), { message, paths }),
  rewind: (id: string, messageID: string) => call<Rewind>('GET', at(id, '/rewind', { message_id: messageID })),
  restore: (id: string, messageID: string, digest: string) =>
    call<null>('POST', at(id, '/rewind'), { message_id: messageID, digest }),
  folder: (id: string, path: string) => call<FolderEntries>('GET', at(id, '/files', path ? { path } : {})),
  search: (id: string, q: string, signal: AbortSignal) =>
    call<FoundFiles>('GET', at(id, '/files/search', { q }), undefined, signal),
  content: (id: string, path: string) => call<FileContent>('GET', at(id, '/files/content', { path })),
  raw: (id: string, path: string) => file(rawAddress(id, path)),
}

export const rawAddress = (id: string, path: string): string => at(id, '/files/raw', { path })

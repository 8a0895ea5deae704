import { ref } from 'vue'

// The server creates worktrees in this folder of the repository.
const WORKTREE = /\/\.worktrees\/([^/]+)/

/** Returns the name of the worktree that a folder is in; '' for other folders. */
export const worktreeIn = (folder: string): string => WORKTREE.exec(folder)?.[1] ?? ''

/** Returns the folder of the repository that corresponds to one in a worktree, and others as they are. */
export const withoutWorktree = (folder: string): string => folder.replace(WORKTREE, '')

/** Counts the changes that this page made in the folder of a session. Each makes its state be read again. */
export const folderChanged = ref(0)

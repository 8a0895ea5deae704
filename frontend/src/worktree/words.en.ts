import { count } from '@/i18n'

const commits = (n: number) => count(n, 'commit', 'commits')

export const words = {
  label: 'Worktree',
  work: 'Work in a separate copy, on branch',
  branch: 'New branch',
  from: 'from',
  base: 'Base branch',
  noRepository: 'This folder has no Git repository, so it can’t have a worktree.',
  stays: (n: number, more: boolean) =>
    more || n > 1
      ? `${n}${more ? '+' : ''} uncommitted files stay in the folder.`
      : '1 uncommitted file stays in the folder.',
  detached: (head: string) => `Detached at ${head}`,
  clean: 'clean',
  changed: (n: number, more: boolean) => `${n}${more ? '+' : ''} changed`,
  fromBase: (base: string) => `Worktree from ${base}`,
  ahead: (n: number) => (n === 0 ? 'no new commits' : `${commits(n)} ahead`),
  conflicts: 'conflicts',
  finish: 'Merge or remove…',
  title: (branch: string) => `Worktree ${branch}`,
  uncommitted: 'Uncommitted',
  files: (n: number) => (n === 0 ? 'None' : count(n, 'file', 'files')),
  commits: 'Commits',
  aheadOf: (n: number, base: string) => (n === 0 ? `None ahead of ${base}` : `${commits(n)} ahead of ${base}`),
  merge: 'Merge',
  states: {
    ready: (base: string) => `No conflicts with ${base}`,
    nothing: (base: string) => `${base} has all commits`,
    uncommitted: () => 'Commit or discard the changes first.',
    conflicts: (base: string) => `Conflicts with ${base}. Merge ${base} into the worktree and resolve them there:`,
    base_changed: (base: string) =>
      `Uncommitted changes where ${base} is checked out would be overwritten. Commit them there, or merge there:`,
    base_elsewhere: (base: string) => `${base} is checked out in another worktree. Merge there:`,
    base_missing: (base: string) => `Branch ${base} no longer exists.`,
    no_identity: () => 'Git needs a name and an email for a merge commit. Set user.name and user.email first.',
  },
  mergesInto: (folder: string) => `The files in ${folder} change. Hooks don’t run.`,
  mergesBranch: (base: string) => `${base} isn’t checked out anywhere, so only the branch changes.`,
  mergeNow: (base: string) => `Merge into ${base}`,
  merged: (commit: string, base: string) => `Merged into ${base} as ${commit}.`,
  keep: 'Keep',
  remove: 'Remove…',
  removeTitle: (branch: string) => `Remove worktree ${branch}?`,
  removeWords: 'The folder is deleted. This is recorded in the audit log.',
  kept: (n: number) => `${count(n, 'uncommitted file is', 'uncommitted files are')} kept as a commit.`,
  branchStays: (branch: string, n: number, base: string) =>
    n > 0 ? `Branch ${branch} is kept. ${base} is missing ${commits(n)} from it.` : `Branch ${branch} is kept.`,
  commitsStay: (n: number) =>
    `${count(n, 'commit that is on no branch is', 'commits that are on no branch are')} kept under refs/sayso/removed.`,
  branchGoes: (branch: string, base: string) => `Branch ${branch} is deleted. ${base} has all its commits.`,
  lost: 'Ignored files are permanently deleted:',
  andMore: 'and more',
  running: 'Claude is running here. End the session first.',
  removeNow: 'Remove worktree',
  removed: 'Worktree removed.',
  keptAs: 'The uncommitted changes are in this commit. To get them back on a branch:',
  close: 'Close',
  loading: 'Loading…',
  copy: 'Copy command',
}

import { count } from '@/i18n'
import type { words as english } from './words.en'

const commits = (n: number) => count(n, 'Commit', 'Commits')

export const words: typeof english = {
  label: 'Worktree',
  work: 'In einer eigenen Kopie arbeiten, auf dem Branch',
  branch: 'Neuer Branch',
  from: 'von',
  base: 'Basis-Branch',
  noRepository: 'Dieser Ordner hat kein Git-Repository. Deshalb ist kein Worktree möglich.',
  stays: (n, more) =>
    more || n > 1
      ? `${n}${more ? '+' : ''} Dateien ohne Commit bleiben im Ordner.`
      : '1 Datei ohne Commit bleibt im Ordner.',
  detached: (head) => `Losgelöst bei ${head}`,
  clean: 'sauber',
  changed: (n, more) => `${n}${more ? '+' : ''} geändert`,
  fromBase: (base) => `Worktree von ${base}`,
  ahead: (n) => (n === 0 ? 'keine neuen Commits' : `${commits(n)} voraus`),
  conflicts: 'Konflikte',
  finish: 'Mergen oder entfernen …',
  title: (branch) => `Worktree ${branch}`,
  uncommitted: 'Ohne Commit',
  files: (n) => (n === 0 ? 'Keine' : count(n, 'Datei', 'Dateien')),
  commits: 'Commits',
  aheadOf: (n, base) => (n === 0 ? `Keine, die in ${base} fehlen` : `${commits(n)} vor ${base}`),
  merge: 'Merge',
  states: {
    ready: (base) => `Keine Konflikte mit ${base}`,
    nothing: (base) => `${base} enthält alle Commits`,
    uncommitted: () => 'Committe oder verwirf zuerst die Änderungen.',
    conflicts: (base) => `Konflikte mit ${base}. Merge ${base} in den Worktree und löse sie dort:`,
    base_changed: (base) =>
      `Änderungen ohne Commit würden überschrieben, wo ${base} ausgecheckt ist. Committe sie dort oder merge dort:`,
    base_elsewhere: (base) => `${base} ist in einem anderen Worktree ausgecheckt. Merge dort:`,
    base_missing: (base) => `Den Branch ${base} gibt es nicht mehr.`,
    no_identity: () =>
      'Git braucht für einen Merge-Commit einen Namen und eine E-Mail-Adresse. Setze zuerst user.name und user.email.',
  },
  mergesInto: (folder) => `Die Dateien in ${folder} ändern sich. Hooks werden nicht ausgeführt.`,
  mergesBranch: (base) => `${base} ist nirgends ausgecheckt. Deshalb ändert sich nur der Branch.`,
  mergeNow: (base) => `In ${base} mergen`,
  merged: (commit, base) => `Als ${commit} in ${base} gemergt.`,
  keep: 'Behalten',
  remove: 'Entfernen …',
  removeTitle: (branch) => `Worktree ${branch} entfernen?`,
  removeWords: 'Der Ordner wird gelöscht. Das steht im Audit-Protokoll.',
  kept: (n) => `${count(n, 'Datei', 'Dateien')} ohne Commit: Die Änderungen bleiben in einem Commit erhalten.`,
  branchStays: (branch, n, base) =>
    n > 0 ? `Der Branch ${branch} bleibt: In ${base} fehlen ${commits(n)}.` : `Der Branch ${branch} bleibt.`,
  commitsStay: (n) =>
    `${count(n, 'Commit ohne Branch bleibt', 'Commits ohne Branch bleiben')} unter refs/sayso/removed erhalten.`,
  branchGoes: (branch, base) => `Der Branch ${branch} wird gelöscht. ${base} enthält alle seine Commits.`,
  lost: 'Ignorierte Dateien werden endgültig gelöscht:',
  andMore: 'und weitere',
  running: 'Claude läuft hier. Beende zuerst die Sitzung.',
  removeNow: 'Worktree entfernen',
  removed: 'Worktree entfernt.',
  keptAs: 'Deine Änderungen sind in diesem Commit gespeichert. So holst du sie auf einen Branch:',
  close: 'Schließen',
  loading: 'Wird geladen …',
  copy: 'Befehl kopieren',
}

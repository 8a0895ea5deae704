import { count } from '@/i18n'
import { list } from './lists'
import type { words as english } from './words.en'

export const words: typeof english = {
  card: {
    nobody: (project) => `Nach den Regeln von ${project} kann das niemand genehmigen. Du kannst es nur ablehnen.`,
    only: (names, project) =>
      `In ${project} ${names.length === 1 ? 'kann' : 'können'} das nur ${list(names, 'und')} genehmigen.`,
    two: (project) => `In ${project} müssen das 2 Personen genehmigen.`,
    first: (name) => `Von ${name} genehmigt. 1 weitere Genehmigung nötig.`,
    mine: 'Von dir genehmigt. 1 weitere Genehmigung nötig.',
    withdraw: 'Meine Genehmigung rückgängig machen',
  },
  none: 'Noch keine Projekte. Bis du eines erstellst, können alle auf diesem Server alle Sitzungen sehen und entsprechend ihrer Rolle verwenden.',
  noMembership: 'Du bist in keinem Projekt Mitglied.',
  lead: 'Ein Projekt fasst Ordner zusammen. Nur seine Mitglieder sehen die Sitzungen darin. Lege hier fest, wer Sitzungen starten, antworten und genehmigen kann.',
  add: 'Neues Projekt',
  name: 'Name',
  folders: 'Ordner, einer pro Zeile',
  foldersHint: 'Absolute Pfade auf dem Server. Sitzungen in diesen Ordnern gehören zum Projekt.',
  create: 'Projekt erstellen',
  open: (name) => `${name} öffnen`,
  back: 'Alle Projekte',
  members: 'Mitglieder',
  membersHint: 'Nur Mitglieder und Admins des Servers können die Sitzungen dieses Projekts sehen.',
  memberCount: (n) => count(n, 'Mitglied', 'Mitglieder'),
  ruleCount: (n) => count(n, 'Regel', 'Regeln'),
  noMembers: 'Noch keine Mitglieder.',
  person: 'Person',
  role: 'Rolle',
  roles: {
    viewer: 'Lesezugriff: nur ansehen',
    member: 'Mitglied: arbeiten und antworten',
    admin: 'Admin: auch Mitglieder und Regeln verwalten',
  },
  roleOf: (name) => `Rolle von ${name}`,
  addMember: 'Mitglied hinzufügen',
  remove: 'Entfernen',
  removeOf: (name) => `${name} entfernen`,
  rights: 'Rechte',
  start: 'Sitzungen starten',
  answer: 'Anfragen beantworten',
  bypass: 'Genehmigungen umgehen (bypassPermissions)',
  bypassHint:
    'Was Claude in diesen Sitzungen tut, genehmigt niemand. Nur hier ausgewählte Personen haben dieses Recht.',
  grantees: { member: 'alle Mitglieder', admin: 'Admins des Projekts', people: 'nur diese Personen' },
  rules: 'Regeln für Genehmigungen',
  rulesHint:
    'Die erste passende Regel gilt. Passt keine, kann jeder genehmigen, der antworten kann. Regeln genehmigen nie selbst etwas.',
  noRules: 'Noch keine Regeln. Wer antworten kann, kann auch genehmigen.',
  tool: 'Werkzeug',
  toolHint: 'Bash, Edit, Write, mcp__server__tool; * steht für beliebigen Text',
  pattern: 'Befehl oder Pfad',
  patternHint: 'Leer für alle, oder git push*, deploy/*',
  effect: 'Genehmigung durch',
  effects: { allow: '1 Person', two_people: '2 Personen', deny: 'niemanden' },
  approvers: (names) => `nur ${list(names, 'und')}`,
  people: 'Nur diese Personen (leer: wer antworten kann)',
  addRule: 'Regel hinzufügen',
  up: 'Nach oben',
  upOf: (n) => `Regel ${n} nach oben`,
  removeRule: (n) => `Regel ${n} entfernen`,
  ruleSummary: (tool, pattern, effect) => `${tool}${pattern ? ` „${pattern}“` : ''}: ${effect}`,
  deadlines: 'MCP-Fragen',
  askTimeout: 'Frist für Fragen von Agenten',
  askingHint:
    'Für ask_user und ähnliche Werkzeuge. Fragen und Genehmigungen von Claude selbst haben keine Frist. Für Ordner, die in der Einstellungsdatei des Servers genannt sind, gilt deren Wert.',
  deadline: (seconds) =>
    seconds === 0
      ? 'Standard des Servers'
      : seconds < 0
        ? 'Unbegrenzt'
        : seconds < 60
          ? `${seconds} Sekunden`
          : count(seconds / 60, 'Minute', 'Minuten'),
  limits: 'Limits',
  limitsHint:
    'Über einem Limit startet keine Sitzung, über dem Kostenlimit keine Runde. Laufende Sitzungen laufen weiter. Tage beginnen um 00:00 UTC. Leer: kein Limit.',
  use: (sessions, memory, cost) => `In Verwendung: ${sessions}, ${memory}, ${cost} heute.`,
  sessionCount: (n) => count(n, 'Sitzung', 'Sitzungen'),
  all: 'Alle Sitzungen zusammen',
  each: 'Pro Person',
  maxSessions: 'Gleichzeitige Sitzungen',
  memory: 'Speicher (MB)',
  cost: 'Kosten pro Tag (USD)',
  limitOf: (whose, what) => `${whose}: ${what}`,
  usage: {
    label: 'Limits und Nutzung',
    mine: 'Deine Sitzungen',
    all: (project) => `Alle Sitzungen von ${project}`,
    mineIn: (project) => `Deine Sitzungen in ${project}`,
    sessions: (n, max) => `${n} von ${max} laufen`,
    memory: (n, max) => `${n} von ${max}`,
    cost: (spent, max) => `heute ${spent} von ${max} (UTC)`,
    none: 'Deine Sitzungen haben keine Limits.',
  },
  settings: 'Name und Ordner',
  save: 'Speichern',
  saved: 'Gespeichert.',
  delete: 'Projekt löschen',
  deleteHint: 'Seine Sitzungen bleiben erhalten. Alle auf dem Server können sie dann sehen.',
  confirmDelete: (name) => `Ja, ${name} löschen`,
}

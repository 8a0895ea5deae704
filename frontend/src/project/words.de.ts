import { count } from '@/i18n'
import { list } from './lists'
import type { words as english } from './words.en'

export const words: typeof english = {
  card: {
    nobody: (project) => `Nach den Regeln von ${project} darf das niemand erlauben. Es lässt sich nur ablehnen.`,
    only: (names, project) =>
      `In ${project} ${names.length === 1 ? 'darf' : 'dürfen'} das nur ${list(names, 'und')} erlauben.`,
    two: (project) => `In ${project} müssen das zwei Personen erlauben.`,
    first: (name) => `Von ${name} erlaubt, eine Person fehlt noch.`,
    mine: 'Von dir erlaubt, eine Person fehlt noch.',
    withdraw: 'Meine Erlaubnis zurücknehmen',
  },
  none: 'Es gibt noch keine Projekte. Bis es eines gibt, sehen alle auf diesem Server alle Sitzungen und arbeiten darin nach ihrer Rolle.',
  noneYours: 'Du gehörst zu keinem Projekt.',
  lead: 'Ein Projekt ist ein Name über Ordnern. Sitzungen darin sehen nur seine Mitglieder; wer starten, antworten und erlauben darf, steht hier.',
  add: 'Neues Projekt',
  name: 'Name',
  folders: 'Ordner, einer je Zeile',
  foldersHint: 'Absolute Pfade auf dem Server. Sitzungen, die darin arbeiten, gehören zum Projekt.',
  create: 'Projekt anlegen',
  open: (name) => `${name} öffnen`,
  back: 'Alle Projekte',
  members: 'Mitglieder',
  membersHint: 'Sonst sieht niemand die Sitzungen dieses Projekts, außer Admins des Servers.',
  memberCount: (n) => count(n, 'Mitglied', 'Mitglieder'),
  ruleCount: (n) => count(n, 'Regel', 'Regeln'),
  noMembers: 'Noch gehört niemand dazu.',
  person: 'Person',
  role: 'Rolle',
  roles: {
    viewer: 'Zusehen: sieht zu',
    member: 'Mitarbeit: arbeitet und antwortet auch',
    admin: 'Verwaltung: verwaltet auch Mitglieder und Regeln',
  },
  roleOf: (name) => `Rolle von ${name}`,
  addMember: 'Hinzufügen',
  remove: 'Entfernen',
  removeOf: (name) => `${name} entfernen`,
  rights: 'Rechte',
  start: 'Wer Sitzungen starten darf',
  answer: 'Wer antworten darf',
  bypass: 'Wer Sitzungen laufen lassen darf, die niemanden fragen (bypassPermissions)',
  bypassHint: 'Was Claude dort tut, erlaubt niemand. Das Recht hat nur, wer hier genannt ist.',
  whom: { member: 'alle Mitglieder', admin: 'Admins des Projekts', people: 'nur diese Personen' },
  nobody: 'niemand',
  rules: 'Regeln fürs Erlauben',
  rulesHint:
    'Die erste passende Regel entscheidet. Ohne eine darf erlauben, wer antworten darf. Regeln erlauben nie selbst etwas.',
  noRules: 'Keine Regeln: Wer antworten darf, darf erlauben.',
  tool: 'Werkzeug',
  toolHint: 'Bash, Edit, Write, mcp__server__tool; * steht für beliebigen Text',
  pattern: 'Befehl oder Pfad',
  patternHint: 'leer: alle; git push*, deploy/*',
  effect: 'Wer erlaubt',
  effects: { allow: 'eine Person', two_people: 'zwei Personen', deny: 'niemand' },
  by: (names) => `nur ${list(names, 'und')}`,
  people: 'Nur diese Personen (keine: wer antworten darf)',
  addRule: 'Regel hinzufügen',
  up: 'Nach oben',
  upOf: (n) => `Regel ${n} nach oben`,
  removeRule: (n) => `Regel ${n} entfernen`,
  ruleIs: (tool, pattern, effect) => `${tool}${pattern ? ` „${pattern}“` : ''}: ${effect}`,
  asking: 'Fragen über MCP',
  askTimeout: 'Wie lange die Frage eines Agenten auf jemanden wartet',
  askingHint:
    'Für ask_user und die anderen. Claudes eigene Fragen und Bitten um Erlaubnis haben keine Frist. Was die Einstellungsdatei des Servers über einen Ordner sagt, gilt dort.',
  waits: (seconds) =>
    seconds === 0
      ? 'Wie auf dem Server'
      : seconds < 0
        ? 'Für immer'
        : seconds < 60
          ? `${seconds} Sekunden`
          : count(seconds / 60, 'Minute', 'Minuten'),
  limits: 'Grenzen',
  limitsHint:
    'Über einer Grenze startet nichts, und über der der Kosten beginnt kein Zug; was läuft, läuft weiter. Ein Tag beginnt um 00:00 UTC. Leer: keine Grenze.',
  use: (sessions, memory, cost) => `Jetzt ${sessions} mit ${memory}; heute haben sie ${cost} gekostet.`,
  sessionCount: (n) => count(n, 'Sitzung läuft', 'Sitzungen laufen'),
  all: 'Alle Sitzungen zusammen',
  each: 'Die Sitzungen einer Person',
  most: 'Sitzungen zugleich',
  memory: 'Speicher in MB',
  cost: 'US-Dollar am Tag',
  limitOf: (whose, what) => `${whose}: ${what}`,
  taken: {
    label: 'Grenzen und was davon benutzt ist',
    mine: 'Deine Sitzungen',
    all: (project) => `Alle Sitzungen von ${project}`,
    mineIn: (project) => `Deine Sitzungen in ${project}`,
    sessions: (n, most) => `${n} von ${most} zugleich`,
    memory: (n, most) => `${n} von ${most}`,
    cost: (spent, most) => `heute ${spent} von ${most} (UTC)`,
    none: 'Nichts begrenzt deine Sitzungen.',
  },
  settings: 'Name und Ordner',
  save: 'Speichern',
  saved: 'Gespeichert. Es gilt sofort.',
  delete: 'Projekt löschen',
  deleteHint: 'Seine Sitzungen bleiben, und alle auf dem Server sehen sie dann.',
  reallyDelete: (name) => `Ja, ${name} löschen`,
}

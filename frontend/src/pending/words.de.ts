import { count } from '@/i18n'
import { whom } from '@/i18n/messages.de'
import type { words as english } from './words.en'

const range = (least: number | undefined, most: number | undefined, unit = ''): string => {
  const of = unit && ` ${unit}`
  if (least !== undefined && most !== undefined) return least === most ? `${least}${of}` : `${least} bis ${most}${of}`
  if (least !== undefined) return `mindestens ${least}${of}`
  return most === undefined ? '' : `höchstens ${most}${of}`
}

export const words: typeof english = {
  plan: {
    approveAsk: 'Freigeben, vor Änderungen fragen',
    approveEdits: 'Freigeben, Änderungen annehmen',
    keepPlanning: 'Weiter planen',
    keepPlanningDefault: 'Plane weiter. Fang noch nicht an.',
    feedback: 'Was soll anders sein? (optional)',
    feedbackExample: 'Zum Beispiel: lass die Datenbank in Ruhe',
  },

  templates: {
    title: 'Schon gesagt',
    change: 'Ändern',
    done: 'Fertig',
    textOf: (text) => `Text: ${text}`,
    remove: (text) => `Entfernen: ${text}`,
  },
  merge: {
    both: 'Auf einem anderen Gerät hast du etwas anderes geschrieben:',
    theirs: 'Das nehmen',
    mine: 'Behalten, was hier steht',
  },

  questionsForm: 'Fragen',
  numberOf: (i, n) => `${i} von ${n}`,
  progress: (done, all) => `${done} von ${all} beantwortet`,
  required: '(nötig)',
  optional: '(optional)',
  chooseAny: 'Wähle beliebig viele',
  choose: (b) => `Wähle ${range(b.min_items, b.max_items)}`,
  format: (format, b) => {
    const name = ({
      number: 'Eine Zahl', integer: 'Eine ganze Zahl', email: 'Eine E-Mail-Adresse', uri: 'Eine Adresse wie https://…',
      date: 'Ein Datum', 'date-time': 'Datum und Uhrzeit wie 2026-01-31T14:00:00Z',
    })[format ?? ''] ?? ''
    const between = range(b.minimum, b.maximum)
    const numbers = between && (b.minimum !== undefined && b.maximum !== undefined ? ` von ${between}` : `, ${between}`)
    const length = range(b.min_length, b.max_length, 'Zeichen')
    return name + numbers + (name && length ? ', ' : '') + length
  },
  clear: 'Leeren',
  clearNamed: (question) => `Leeren: ${question}`,
  previewOf: (label) => `Vorschau von ${label}`,
  fault: {
    missing: () => 'Hier fehlt eine Antwort.',
    other: () => 'Schreibe deine Antwort oder wähle eine Möglichkeit.',
    number: () => 'Das muss eine Zahl sein, etwa 12 oder 1.5.',
    integer: () => 'Das muss eine ganze Zahl sein.',
    email: () => 'Das muss eine E-Mail-Adresse sein.',
    uri: () => 'Das muss eine Adresse sein, etwa https://example.org.',
    date: () => 'Das muss ein Datum sein, etwa 2026-01-31.',
    'date-time': () => 'Das müssen Datum und Uhrzeit sein, etwa 2026-01-31T14:00:00Z.',
    low: (b) => `Das muss mindestens ${b.minimum} sein.`,
    high: (b) => `Das darf höchstens ${b.maximum} sein.`,
    short: (b) => `Das muss mindestens ${count(b.min_length ?? 0, 'Zeichen', 'Zeichen')} lang sein.`,
    long: (b) => `Das darf höchstens ${count(b.max_length ?? 0, 'Zeichen', 'Zeichen')} lang sein.`,
    few: (b) => `Wähle mindestens ${b.min_items}.`,
    many: (b) => `Wähle höchstens ${b.max_items}.`,
  },
  other: 'Anderes',
  otherAnswer: (question) => `Anderes: ${question}`,
  otherExample: 'Deine eigene Antwort',
  missing: (n, all) => (all === 1 ? 'Antwort fehlt' : n === 1 ? 'Noch 1 Frage beantworten' : `Noch ${n} Fragen beantworten`),
  submit: 'Antworten absenden',
  decline: 'Nicht antworten',
  declineReason: (who) => `Nachricht an ${whom(who)} (optional)`,
  declineServer: (name) => `Nicht antworten? ${name} erfährt nur, dass du nicht geantwortet hast.`,
  toServer: (name) => `Deine Antwort geht an den MCP-Server „${name}“.`,
  visit: {
    leadsTo: 'Die Adresse führt zu',
    open: 'Seite öffnen',
    done: 'Fertig',
    cannot: 'Von hier aus lassen sich nur Adressen mit http und https öffnen.',
    hint: 'Nichts wird geöffnet, bevor du den Knopf drückst. Drücke „Fertig“, wenn du dort fertig bist.',
  },
  declineExample: 'Zum Beispiel: entscheide selbst',
  unreadable: 'Diese Fragen lassen sich nicht als Formular zeigen. Du kannst nur angeben, dass du nicht antwortest.',
  confirm: { yes: 'Ja', no: 'Nein' },

  risk: {
    level: { low: 'Darin wurde nichts Riskantes gefunden.', medium: 'Genau hinsehen', high: 'Hohes Risiko' },
    unread: 'Nicht alles ließ sich maschinell lesen. Lies es selbst, bis zum Ende.',
    more: (n) => `und ${count(n, 'weitere Stelle', 'weitere Stellen')}`,
    steps: (n) => `${n} Schritte`,
    inFolder: (dir) => `in ${dir}`,
    somewhere: 'in einem Ordner, der berechnet wird',
    kind: {
      delete: 'löscht Dateien.',
      delete_tree: 'löscht Ordner mit allem, was darin ist.',
      privilege: 'läuft als anderer Benutzer, mit anderen Rechten.',
      download_run: 'führt ungesehen aus, was aus dem Netz kommt.',
      decode_run: 'führt ungesehen aus, was entschlüsselt oder entpackt wurde.',
      pipe_run: 'führt ungesehen aus, was ein anderer Befehl ausgibt.',
      computed: 'wird erst beim Ausführen berechnet und ist hier nicht zu sehen.',
      evaluated: 'führt einen Text als Befehl aus.',
      substitution: 'wird mit seiner Ausgabe Teil des Befehls.',
      inline_code: 'führt Code aus, der im Befehl steht.',
      launcher: 'führt ein anderes Programm aus, das es nennt.',
      script: 'führt eine Datei aus, die hier nicht zu sehen ist.',
      unknown: 'ist ein Programm, das hier nicht bekannt ist.',
      background: 'läuft nach dem Ende des Aufrufs weiter.',
      git_force: 'ersetzt oder löscht, was auf der anderen Seite liegt.',
      git_discard: 'verwirft Arbeit oder ändert die Geschichte.',
      git_push: 'schickt Arbeit auf einen anderen Rechner.',
      permissions: 'ändert, wer was mit Dateien darf.',
      disk: 'schreibt auf Datenträger oder über rohe Daten.',
      kill: 'beendet Prozesse.',
      system: 'verändert diesen Rechner.',
      persist: 'sorgt dafür, dass später etwas ohne Rückfrage läuft.',
      environment: 'ist eine Variable, die bestimmt, was andere Programme ausführen.',
      redefine: 'gibt einem Befehl oder einer Einstellung eine andere Bedeutung.',
      write_outside: 'reicht über den Ordner der Sitzung hinaus.',
      write_sensitive: 'ist eine Datei, der andere vertrauen oder die von selbst läuft.',
      read_secret: 'ist oder zeigt, was wie ein Geheimnis aussieht.',
      overwrite: 'ersetzt, was da ist.',
      network: 'spricht mit einem anderen Rechner.',
      upload: 'schickt Daten auf einen anderen Rechner.',
      install: 'installiert oder holt fremden Code, der gleich laufen kann.',
      remote: 'ändert etwas auf einem anderen Rechner oder Dienst.',
      hidden: 'ist unsichtbar oder sieht nur so aus wie das, was es scheint.',
      unreadable: 'ließ sich maschinell nicht lesen.',
      wildcard: 'steht für jeden Befehl.',
      whole_tool: 'ist jeder Gebrauch des Werkzeugs.',
      any_arguments: 'lässt den Rest offen.',
    },
  },
  file: {
    state: {
      new: 'Neue Datei', changes: 'Verglichen mit der Datei, wie sie jetzt ist', same: 'Nichts wäre anders als in der Datei, wie sie ist.',
      no_file: 'Diese Datei gibt es nicht. Das wird fehlschlagen.', outside: 'Die Datei liegt außerhalb der Ordner, die hier gezeigt werden, und wird nicht verglichen.',
      other: 'Das ist ein Ordner oder ein Gerät, keine Datei.', large: 'Die Datei ist zu groß, um sie hier zu vergleichen.',
      denied: 'Dieser Server darf die Datei nicht lesen.', binary: 'Die Datei ist kein Text und wird nicht verglichen.',
    },
    problem: (problem, found, edit) => ({
      not_found: 'Der Text steht nicht in der Datei, wie sie jetzt ist', many: `Der Text steht ${found}-mal da, darf aber nur einmal da sein`,
      same: 'Der neue Text ist derselbe wie der alte', empty: 'Der zu ersetzende Text ist leer, die Datei aber nicht', no_cell: 'Diese Zelle gibt es nicht',
    })[problem] + (edit > 1 ? ` (Änderung ${edit}). Das wird fehlschlagen.` : '. Das wird fehlschlagen.'),
    drifted: 'Die Datei wurde geändert, nachdem Claude sie gelesen hat.',
    crlf: 'Zeilen enden mit CR LF, und das bleibt so',
    noNewline: 'Die letzte Zeile hat kein Ende, wie zuvor.',
    newlineGone: 'Die letzte Zeile wird kein Ende haben.',
    cell: {
      replace: (id) => `ersetzt Zelle ${id}`, insert: (id) => (id ? `fügt nach ${id} eine Zelle ein` : 'fügt oben eine Zelle ein'), delete: (id) => `löscht Zelle ${id}`,
    },
    changedNow: 'Die Datei wurde gerade geändert. Sieh noch einmal hin, bevor du freigibst.',
  },
  rule: {
    form: {
      exact: 'Genau das:', prefix: 'Alles, was so beginnt:', pattern: 'Alles, was dazu passt:', domain: 'Jede Seite von', tool: 'Jeder Gebrauch von', server: 'Jedes Werkzeug des MCP-Servers',
    },
    level: { low: '', medium: 'Weiter, als es aussieht:', high: 'Gefährlich als Regel:' },
    wouldAllow: 'Würde auch erlauben:',
    added: 'Claude fragt nicht mehr nach',
    undo: 'Rückgängig',
    undone: 'Zurückgenommen. Claude fragt wieder.',
    notUndone: 'Die Regel ließ sich nicht zurücknehmen.',
  },
  why: {
    title: 'Warum werde ich gefragt?',
    mode: (mode) => `Der Modus dieser Sitzung ist „${mode}“.`,
    reason: 'Claude Code sagt:',
    path: 'Es geht um den Pfad',
    behavior: { ask: 'lässt Claude Code jedes Mal fragen. Sie steht in', deny: 'verbietet das. Sie steht in' },
    partly: 'erlaubt das oder einen Teil davon. Sie steht in',
    source: { managed: 'den Einstellungen der Verwaltung', user: 'deinen Einstellungen (~/.claude)', project: 'den Einstellungen des Projekts', local: 'deinen Einstellungen für das Projekt' },
    none: 'Keine Regel in den Einstellungen betrifft das.',
    uncovered: 'Keine Regel deckt:',
    strict: 'Solange diese Regel da ist, kann keine andere die Frage verhindern.',
    smallest: (n, stops) => (n === 1 ? `Die kleinste Regel, die das ${stops ? 'verhindern würde' : 'abdeckt'}:` : `Die kleinsten Regeln, die das ${stops ? 'verhindern würden' : 'abdecken'}:`),
  },
  edit: { difference: 'Was du geändert hast', add: 'dazu: ', del: 'weg: ' },
  red: {
    why: 'Das kann viel Schaden anrichten, darum genügt ein Druck nicht.',
    type: (word, keys) => (keys ? `Tippe „${word}“, oder halte den Knopf oder die Taste Y einen Augenblick.` : `Tippe „${word}“, oder halte den Knopf einen Augenblick.`),
    hold: 'Zum Erlauben halten',
    approve: 'Freigeben',
    back: 'Zurück',
  },
  fetchFrom: 'Holt von',
  copyJSON: 'Als JSON kopieren',
  contents: 'Inhalt des Plans',
}

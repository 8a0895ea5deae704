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
}

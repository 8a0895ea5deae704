import { count } from '@/i18n'
import type { words as english } from './words.en'

export const words: typeof english = {
  waiting: (n) => `${count(n, 'Anfrage wartet', 'Anfragen warten')} auf dich`,
  tabs: 'Hauptnavigation',
  tabNew: 'Neu',
  tabYou: 'Du',
  list: 'Offene Anfragen',
  region: 'Ausgewählte Anfrage',
  order: 'Älteste zuerst',
  empty: 'Alles erledigt',
  emptyHint: 'Hier erscheinen Anfragen aus allen Sitzungen.',
  toPhone: 'Anfragen auf dem Smartphone erhalten',
  now: 'Gerade aktiv',
  noMatch: 'Keine offenen Anfragen entsprechen diesen Filtern.',
  clearFilters: 'Filter löschen',
  loading: 'Anfragen werden geladen …',
  slow: 'Das dauert länger als sonst. Der Server hat die Anfragen noch nicht gesendet.',
  offline:
    'Keine Verbindung. Diese Anfragen sind möglicherweise veraltet. Deine Antworten werden gesendet, sobald du wieder verbunden bist.',
  choose: 'Wähle eine Anfrage aus der Liste.',
  filters: 'Filter',
  tool: 'Werkzeug',
  project: 'Ordner',
  risk: 'Risiko',
  any: 'Alle',
  question: 'Frage',
  risks: { low: 'Gering', medium: 'Mittel oder unbekannt', high: 'Hoch' },
  highRisk: 'Hohes Risiko',
  closed: 'Nicht mehr offen',
  hints: { next: 'Weiter', select: 'Auswählen', approve: 'Genehmigen', deny: 'Ablehnen', snooze: 'Zurückstellen' },
  snoozed: (minutes) => `zurückgestellt, noch ${minutes} min`,
  select: (what) => `Auswählen: ${what}`,
  selectShort: 'Auswählen',
  selectLow: 'Geringes Risiko auswählen',
  selected: (n) => `${n} ausgewählt`,
  done: 'Fertig',
  grouped: 'Gruppiert',
  bulk: (n) => `${count(n, 'Anfrage', 'Anfragen')} ausgewählt`,
  bulkEmpty: 'Keine Anfragen ausgewählt.',
  group: (tool, n) =>
    tool === 'WebFetch'
      ? count(n, 'Webseite', 'Webseiten')
      : tool === 'Bash'
        ? count(n, 'Befehl', 'Befehle')
        : ['Edit', 'MultiEdit', 'Write', 'NotebookEdit'].includes(tool)
          ? count(n, 'Änderung', 'Änderungen')
          : `${tool}: ${count(n, 'Anfrage', 'Anfragen')}`,
  context: 'Letzte Aktivität',
  before: 'Davor',
  showSession: 'Sitzung anzeigen',
  more: 'Mehr',
  openSession: 'Sitzung öffnen',
  waitedToday: (span) => `Claude hat heute ${span} auf dich gewartet`,
  back: 'Zurück zum Eingang',
  next: 'Nächste Anfrage',
  handOff: 'Auf dem Smartphone öffnen',
  textKept: 'Dein Text ist im Nachrichtenfeld der Sitzung.',
  fate: {
    closed: 'Diese Anfrage ist nicht mehr offen.',
    loading: 'Anfrage wird geladen …',
  },
}

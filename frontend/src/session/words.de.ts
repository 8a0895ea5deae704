import { count } from '@/i18n'
import type { words as english } from './words.en'

export const words: typeof english = {
  search: {
    label: 'In diesem Verlauf suchen',
    at: (i, n) => `${i} von ${n}`,
    none: 'Nichts gefunden',
    earlier: 'Vorheriger Treffer',
    later: 'Nächster Treffer',
    close: 'Suche schließen',
  },
  plain: {
    open: 'Als schlichte Seite öffnen',
    page: (i, n) => `Seite ${i} von ${n}`,
    pages: 'Seiten',
    earlier: 'Früher',
    later: 'Später',
    back: 'Zurück zur Sitzung',
    kind: {
      user: 'Nachricht', text: 'Claude', thinking: 'Überlegung', tool_call: 'Werkzeugaufruf', todo: 'Zu tun', plan: 'Plan', subagent: 'Subagent',
      note: 'Hinweis', resolved: 'Anfrage', result: 'Ende des Zugs', agent: 'Subagent',
    },
  },
  rename: { open: 'Umbenennen', title: 'Diese Sitzung umbenennen', label: 'Titel', save: 'Speichern' },
  fork: 'Abzweigen',
  archive: 'Archivieren',
  unarchive: 'Aus dem Archiv holen',
  archiveEmpty: 'Das Archiv ist leer.',
  found: {
    results: 'Gefundene Sitzungen',
    count: (n) => count(n, 'Sitzung', 'Sitzungen'),
    more: 'Mehr zeigen',
  },
  queueLabel: 'Wartende Nachrichten',
  queueRemove: 'Entfernen',
  queueRemoveNamed: (text) => `Entfernen: ${text.slice(0, 60)}`,
  queueEdit: 'Bearbeiten',
  todo: 'Zu tun',
  tool: {
    copyCommand: 'Befehl kopieren',
    result: 'Ergebnis',
    copyResult: 'Ergebnis kopieren',
    moreLines: (n) => `${count(n, 'weitere Zeile', 'weitere Zeilen')} zeigen`,
    inputTooLarge: (size) => `Die Eingabe ist zu groß, um hier gezeigt zu werden (${size}).`,
    cut: (size) => `Nur der Anfang wird gezeigt; das ganze Ergebnis hat ${size}.`,
  },
}

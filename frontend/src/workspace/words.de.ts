import { count } from '@/i18n'
import type { words as english } from './words.en'

export const words: typeof english = {
  title: 'Diesem Ordner vertrauen?',
  titleChanged: 'Die Einstellungen dieses Ordners haben sich geändert',
  lead: 'Claude lädt diese Einstellungen aus dem Ordner, ohne zu fragen. Noch wurde nichts ausgeführt.',
  trustedBefore: (by: string, ago: string) => `${by} hat diesem Ordner ${ago} vertraut.`,
  changes: (fresh: number, gone: number) =>
    [fresh > 0 ? `${fresh} neu oder geändert` : '', gone > 0 ? `${gone} entfernt` : ''].filter(Boolean).join(', ') +
    '.',
  kind: {
    hook: 'Hooks',
    mcp_server: 'MCP-Server',
    helper: 'Hilfsprogramme',
    variable: 'Variablen',
    rule: 'Ohne Rückfrage erlaubt',
    setting: 'Einstellungen',
    agent: 'Agenten',
    command: 'Slash-Befehle',
    skill: 'Skills',
    git: 'Von Git ausgeführt',
    unreadable: 'Nicht lesbare Dateien',
  },
  about: {
    hook: 'Befehle, die Claude bei diesen Ereignissen automatisch ausführt.',
    mcp_server: 'Programme oder Adressen, mit denen sich Claude beim Start verbindet.',
    helper: 'Befehle, die Claude für API-Schlüssel, die Statuszeile und Ähnliches ausführt.',
    variable: 'Gelten für Claude und alles, was es ausführt.',
    rule: 'Werkzeugaufrufe, die keine Genehmigung brauchen, wenn dem Ordner auch in einem Terminal vertraut wird.',
    setting: 'Weitere Einstellungen, die unsicher sein können.',
    agent: 'Subagenten mit eigenen Hooks, Servern oder Berechtigungen.',
    command: 'Slash-Befehle, die Programme ausführen.',
    skill: 'Skills mit eigenen Hooks oder Berechtigungen.',
    git: 'Programme, die Git in diesem Repository ausführt.',
    unreadable: 'sayso kann nicht feststellen, wie Claude diese Dateien verwendet.',
  },
  danger: {
    runs: 'wird ohne Rückfrage ausgeführt',
    redirects: 'leitet Claude um',
    permits: 'erlaubt ohne Rückfrage',
    changes: 'ändert die Arbeitsweise von Claude',
  },
  fresh: 'neu',
  truncated: 'Nur der Anfang wird angezeigt.',
  removed: 'Entfernt',
  instructionFiles: (n: number) => `${count(n, 'Datei', 'Dateien')} mit Anweisungen für Claude`,
  scripts:
    'Du vertraust diesen Befehlen, wie sie hier stehen. Skripte, die sie aufrufen, können sich später ohne Rückfrage ändern.',
  cannotSkip:
    'Git bindet hier Dateien ein, die sich nicht auslassen lassen. Ohne diese Einstellungen kann Claude daher nicht starten.',
  machineRefuses:
    'Diese Maschine lädt die Einstellungen dieses Ordners nicht. Um sie zuzulassen, trage den Ordner in den Einstellungen der Maschine unter trusted-folder ein.',
  trust: 'Diesem Ordner vertrauen und starten',
  startWithout: 'Ohne diese Einstellungen starten',
}

import { count } from '@/i18n'
import type { words as english } from './words.en'

export const words: typeof english = {
  title: 'Diesem Ordner vertrauen?',
  titleChanged: 'Die Einstellungen dieses Ordners haben sich geändert',
  lead: 'Das Folgende übernimmt Claude aus diesem Ordner, ohne jemanden zu fragen. Noch ist nichts davon gelaufen.',
  before: (by: string, ago: string) => `${by} hat diesem Ordner ${ago} vertraut.`,
  changes: (fresh: number, gone: number) =>
    [fresh > 0 ? `${fresh} davon neu oder anders` : '', gone > 0 ? `${gone} nicht mehr da` : '']
      .filter(Boolean)
      .join(', ') + '.',
  kind: {
    hook: 'Hooks',
    mcp_server: 'MCP-Server',
    helper: 'Hilfsprogramme',
    variable: 'Variablen',
    rule: 'Ohne Frage erlaubt',
    setting: 'Einstellungen',
    agent: 'Agenten',
    command: 'Slash-Befehle',
    skill: 'Skills',
    git: 'Von Git ausgeführt',
    unreadable: 'Nicht lesbar',
  },
  about: {
    hook: 'Befehle, die Claude zu diesen Zeitpunkten von selbst ausführt.',
    mcp_server: 'Programme oder Adressen, mit denen Claude sich gleich beim Start verbindet.',
    helper: 'Befehle, die Claude für Schlüssel, die Statuszeile und Ähnliches ausführt.',
    variable: 'Gelten für Claude und für alles, was es ausführt.',
    rule: 'Danach wird niemand mehr gefragt, wenn dem Ordner auch in einem Terminal vertraut wird.',
    setting: 'Andere Einstellungen, von denen nicht bekannt ist, dass sie harmlos sind.',
    agent: 'Subagenten mit eigenen Hooks, Servern oder Rechten.',
    command: 'Befehle, die etwas ausführen, wenn man sie benutzt.',
    skill: 'Skills mit Hooks oder eigenen Rechten.',
    git: 'Programme, die Git in diesem Repository ausführt.',
    unreadable: 'Was Claude aus diesen Dateien macht, kann niemand sagen.',
  },
  danger: {
    runs: 'läuft ohne Frage',
    redirects: 'lenkt Claude um',
    permits: 'erlaubt ohne Frage',
    changes: 'ändert, wie Claude arbeitet',
  },
  fresh: 'neu',
  cut: 'Nur der Anfang ist zu sehen.',
  gone: 'Nicht mehr da',
  told: (n: number) => `${count(n, 'Datei teilt', 'Dateien teilen')} Claude nur etwas mit`,
  scripts:
    'Du vertraust diesen Befehlen, wie sie hier stehen, nicht den Skripten, die sie nennen: Die können sich ohne Frage ändern.',
  cannotLeaveOut:
    'Git bindet hier Dateien ein, die sich nicht weglassen lassen. Ohne diese Einstellungen kann Claude deshalb nicht starten.',
  trust: 'Diesem Ordner vertrauen und starten',
  without: 'Ohne diese Einstellungen starten',
}

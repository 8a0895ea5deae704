import { count } from '@/i18n'
import type { words as english } from './words.en'

export const words: typeof english = {
  title: 'Verwaltung',
  nav: 'Seiten der Verwaltung',
  back: 'Zurück zu den Sitzungen',
  pages: {
    processes: 'Prozesse', people: 'Personen', tokens: 'Tokens', projects: 'Projekte', grants: 'Erlaubnisse', audit: 'Protokoll', settings: 'Einstellungen',
  },
  nothing: 'Hier gibt es nichts, was du sehen darfst.',
  loading: 'Wird geladen…',
  again: 'Erneut versuchen',

  processes: {
    none: 'Nichts läuft. Eine Sitzung, die gestartet oder fortgesetzt wird, erscheint hier.',
    count: (n) => count(n, 'Prozess', 'Prozesse'),
    session: 'Sitzung',
    state: 'Zustand',
    waitsFor: 'Wartet auf',
    inState: 'In diesem Zustand',
    memory: 'Speicher',
    cpu: 'CPU',
    tabs: 'Tabs',
  },
}

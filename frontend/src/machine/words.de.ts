import { count } from '@/i18n'
import type { words as english } from './words.en'

export const words: typeof english = {
  label: 'Maschine',
  any: 'Beliebige Maschine',
  anyHint: 'Startet auf der am wenigsten ausgelasteten Maschine, die den Ordner hat.',
  labels: 'Mit Labels',
  option: (name: string, detail: string) => `${name} (${detail})`,
  running: (n: number) => `${n} aktiv`,
  runningOf: (n: number, max: number) => `${n} von ${max} aktiv`,
  here: 'Dieser Server',
  none: {
    title: 'Keine Maschine ist verbunden',
    lead: 'Dieser Server startet selbst keine Sitzungen. Sie starten auf Maschinen, die sich mit ihm verbinden.',
    admin: 'Füge eine Maschine hinzu und starte dort sayso runner. docs/operating/runners.md erklärt, wie das geht.',
    member: 'Bitte einen Admin, eine Maschine zu verbinden.',
    add: 'Maschine hinzufügen',
  },
  machines: (n: number) => count(n, 'Maschine', 'Maschinen'),
  offline: (n: number) => `${n} offline`,
  states: {
    ready: 'Bereit',
    unreachable: 'Offline',
    paused: 'Pausiert',
    draining: 'Läuft aus',
    full: 'Voll',
    problem: 'Nicht eingerichtet',
  },
  why: {
    unreachable: (name: string) => `${name} ist offline. Die Sitzungen laufen dort weiter und Antworten warten.`,
    unreachableSince: (name: string, when: string) =>
      `${name} ist offline (zuletzt gesehen ${when}). Die Sitzungen laufen dort weiter und Antworten warten.`,
    paused: (name: string) => `${name} ist pausiert und nimmt keine neuen Sitzungen an.`,
    draining: (name: string) => `${name} läuft aus und startet keine Sitzungen.`,
    full: (name: string, max: number) =>
      `Auf ${name} laufen schon ${count(max, 'Sitzung', 'Sitzungen')}, mehr sind nicht erlaubt.`,
  },
  of: (name: string) => `Maschine ${name}`,
  ofOffline: (name: string) => `Maschine ${name}, offline`,
}

import type { words as english } from './words.en'

export const words: typeof english = {
  pinned: 'Angeheftet',
  noFolder: 'Kein Ordner',
  none: 'Noch keine Sitzungen',
  nonViewer: 'Sitzungen, die du sehen kannst, erscheinen hier.',
  offline: 'Offline. Sitzungen erscheinen, sobald die Verbindung wieder steht.',
  actions: (title) => `Aktionen für ${title}`,
  newTab: 'In neuem Tab öffnen',
  titleField: 'Titel der Sitzung',
  titleMissing: 'Gib einen Titel ein.',
}

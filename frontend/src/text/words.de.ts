import type { words as english } from './words.en'

export const words: typeof english = {
  done: 'Erledigt',
  open: 'Offen',
  source: 'Quelltext',
  diagram: (source) => `Diagramm. Quelltext: ${source}`,
  failed: 'Nicht dargestellt: Syntax unbekannt oder nicht unterstützt.',
  slow: 'Nicht dargestellt: Die Darstellung dauert zu lange.',
  long: 'Nicht dargestellt: zu groß.',
}

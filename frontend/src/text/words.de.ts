import type { words as english } from './words.en'

export const words: typeof english = {
  done: 'Erledigt',
  open: 'Offen',
  source: 'Quelltext',
  diagram: (source) => `Diagramm. Quelltext: ${source}`,
  failed: 'Nicht gezeichnet: Syntax unbekannt oder nicht unterstützt.',
  slow: 'Nicht gezeichnet: Das Zeichnen dauert zu lange.',
  long: 'Nicht gezeichnet: zu groß.',
}

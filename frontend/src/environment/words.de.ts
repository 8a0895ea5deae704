import type { words as english } from './words.en'

export const words: typeof english = {
  label: 'Einrichtung von Claude Code',
  title: 'Claude Code ist nicht eingerichtet',
  details: 'Details',
  hide: 'Vorerst ausblenden',
  noCLI:
    'Claude Code wurde auf dem Server nicht gefunden. Installiere es dort oder starte sayso mit --claude und dem Pfad der CLI.',
  notSignedIn:
    'Claude Code ist auf dem Server nicht angemeldet. Führe dort claude aus und melde dich an oder setze ANTHROPIC_API_KEY und starte sayso neu.',
  demo: 'Demositzung ausprobieren',
  check: 'Erneut prüfen',
}

import type { words as english } from './words.en'

export const words: typeof english = {
  done: 'Erledigt',
  open: 'Offen',
}

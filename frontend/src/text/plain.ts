import { hiddenCount } from './hidden'

// Most questions are a few plain words. They are rendered without the engine, so they appear before it has
// loaded, and a form with sixteen options appears in the next frame.
const PLAIN = /^\p{L}[\p{L}\p{N} .,;:?!'"()/%+=-]*$/u
const ADDRESS = /:\/\/|www\./i

/** Reports whether a text is one paragraph without Markdown syntax and hidden characters. */
export function isPlain(text: string): boolean {
  // Some letters are invisible.
  return PLAIN.test(text) && !ADDRESS.test(text) && !text.endsWith(' ') && hiddenCount(text) === 0
}

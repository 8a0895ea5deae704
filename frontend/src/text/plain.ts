import { hiddenCount } from './hidden'

// Most of what is asked is a few plain words. They are read without the engine, so
// they stand before it is there, and a form of sixteen options before the next frame.
const PLAIN = /^\p{L}[\p{L}\p{N} .,;:?!'"()/%+=-]*$/u
const ADDRESS = /:\/\/|www\./i

/** Whether a text is one paragraph in which markdown means nothing, and nothing is hidden. */
export function isPlain(text: string): boolean {
  // Some letters are drawn as nothing.
  return PLAIN.test(text) && !ADDRESS.test(text) && !text.endsWith(' ') && hiddenCount(text) === 0
}

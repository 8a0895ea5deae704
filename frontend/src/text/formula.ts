import type { MarkedExtension, Tokens } from 'marked'
import { spend } from './effort'

/** Escapes a text for HTML. */
export const escape = (text: string) =>
  text.replace(/[&<>"']/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[c]!)

// Formulas as on GitHub: $…$ inline and $$…$$ as a block, but not \(…\), which occurs in regular expressions.
// Most inline dollar signs are variables and prices, so an inline formula starts and ends with a character
// other than white space, and no word or number touches it.
const INLINE = /^\$(?![\s$])((?:\\.|[^\\$\n]){0,500}?[^\s\\$])\$(?![\p{L}\p{N}$])/u
const MAX_BLOCK = 5_000
// How far a text is searched for the next formula. A crafted text could otherwise be searched to its end each
// time.
const AHEAD = 2_000

const indexIn = (src: string, what: RegExp) => {
  const at = src.slice(0, AHEAD).search(what)
  return at < 0 ? undefined : at
}

/**
 * withMath makes Marked recognize formulas. A block formula is a `formula` token; an inline one becomes a
 * `var` element with its source.
 */
export const withMath: MarkedExtension = {
  extensions: [
    {
      name: 'formula',
      level: 'block',
      start: (src: string) => indexIn(src, /(^|\n) {0,3}\$\$/),
      tokenizer(src: string): Tokens.Generic | undefined {
        const from = /^ {0,3}\$\$/.exec(src)?.[0].length
        if (from === undefined) return undefined
        spend(Math.min(src.length, MAX_BLOCK))
        const to = src.slice(0, MAX_BLOCK).indexOf('$$', from)
        const between = src.slice(from, to)
        const text = between.trim()
        // As in TeX, a formula contains no blank line, so a growing text changes only in its last blocks.
        if (to < 0 || text === '' || /\n[ \t]*\n/.test(between)) return undefined
        const end = /^[ \t]*(?:\n|$)/.exec(src.slice(to + 2))
        return end ? { type: 'formula', raw: src.slice(0, to + 2 + end[0].length), text } : undefined
      },
      // In a list or quote; elsewhere, the formula is a separate block.
      renderer: (token: Tokens.Generic) => `<p><var>$$${escape(token['text'] as string)}$$</var></p>\n`,
    },
    {
      name: 'formulaInline',
      level: 'inline',
      start: (src: string) => indexIn(src, /(?<![\p{L}\p{N}$\\])\$(?![\s$])/u),
      tokenizer(src: string, before: unknown): Tokens.Generic | undefined {
        if (src[0] !== '$') return undefined
        if (/[\p{L}\p{N}$]$/u.test((before as Tokens.Generic[]).at(-1)?.raw.slice(-2) ?? '')) return undefined
        spend(Math.min(src.length, 500))
        const found = INLINE.exec(src)
        return found ? { type: 'formulaInline', raw: found[0], text: found[1]! } : undefined
      },
      renderer: (token: Tokens.Generic) => `<var>$${escape(token['text'] as string)}$</var>`,
    },
  ],
}

import { Tokenizer, type MarkedExtension, type TokenizerObject } from 'marked'

// Markdown parsers look ahead for the end of every construct, from each place where one could start. A
// crafted text can make this take minutes, or nest so deeply that the stack overflows. So this module counts
// the characters passed to lookahead, and a text that needs more than people write is shown as source. The
// work is counted and not timed, so that the result does not depend on the machine.

/** The maximum for one text. A long answer of Claude needs a tenth of it. */
export const MAX_EFFORT = 6_000_000
// The cost of one piece of the result, which becomes an element.
const PIECE = 150
// The maximum nesting of lists and quotes.
const MAX_DEPTH = 30
// The maximum length of white space, and of a word that could be an address.
const MAX_BLANK = 500
const MAX_ADDRESS = 2_000

class TooMuch extends Error {}

let spent = 0
let depth = 0
let deepest = MAX_DEPTH

/** Counts n characters. It throws if this exceeds the limit of the current text. */
export function spend(n: number): void {
  spent += n
  if (spent > MAX_EFFORT) throw new TooMuch()
}

/** Returns the effort of the last text. */
export const effort = () => spent

/**
 * Returns the result of read, which uses a parser made with withEffort; null if the text takes too much
 * effort or is nested too deeply.
 */
export function bounded<T>(text: string, read: () => T, nested = MAX_DEPTH): T | null {
  spent = depth = 0
  deepest = nested
  if (text.length > MAX_EFFORT / 10 || longestBlank(text) > MAX_BLANK) return null
  try {
    return read()
  } catch (err) {
    if (err instanceof TooMuch) return null
    throw err
  }
}

function longestBlank(text: string): number {
  let longest = 0
  for (let at = 0, run = 0; at < text.length; at++) {
    const c = text.charCodeAt(at)
    run = c === 32 || c === 9 ? run + 1 : 0
    if (run > longest) longest = run
  }
  return longest
}

const runOf = (text: string, char: string) => {
  let n = 0
  while (text[n] === char) n++
  return n
}

type Rule = keyof TokenizerObject
// The rules with lookahead, and the first characters that trigger them.
const AHEAD: Partial<Record<Rule, string>> = {
  def: '[',
  tag: '<',
  autolink: '<',
  link: '[!',
  reflink: '[!',
  emStrong: '*_',
  codespan: '`',
  del: '~',
}
const DEEPER: Rule[] = ['blockquote', 'list', 'link', 'emStrong', 'del']
const RULES: Rule[] = [
  'space',
  'code',
  'fences',
  'heading',
  'hr',
  'blockquote',
  'list',
  'html',
  'def',
  'table',
  'lheading',
  'paragraph',
  'text',
  'escape',
  'tag',
  'link',
  'reflink',
  'emStrong',
  'codespan',
  'br',
  'del',
  'autolink',
  'url',
  'inlineText',
]

type Call = (this: Tokenizer, ...args: unknown[]) => { raw: string } | undefined | false

function counted(rule: Rule): Call {
  const plain = Tokenizer.prototype[rule] as unknown as Call
  const ahead = AHEAD[rule] ?? ''
  const deeper = DEEPER.includes(rule)
  return function (...args) {
    const src = args[0] as string
    spend(1)
    if (src !== '' && ahead.includes(src[0]!)) spend(src.length * (rule === 'codespan' ? runOf(src, '`') : 1))
    if (rule === 'url') {
      const word = /^\S*/.exec(src)![0].length
      spend(word)
      if (word > MAX_ADDRESS) return undefined
    }
    if (deeper && ++depth > deepest) throw new TooMuch()
    const token = plain.apply(this, args)
    if (deeper) depth--
    if (token) spend(PIECE + token.raw.length)
    return token
  }
}

/** Makes a Marked instance count its work. */
export const withEffort: MarkedExtension = {
  tokenizer: Object.fromEntries(RULES.map((rule) => [rule, counted(rule)])) as unknown as TokenizerObject,
}

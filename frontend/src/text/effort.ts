import { Tokenizer, type MarkedExtension, type TokenizerObject } from 'marked'

// What reads markdown looks ahead for the end of what begins, from every place
// where something could begin. A text can be made so that this takes minutes, or
// so deep that the stack ends. So the looking is counted, in characters handed to
// what looks ahead, and a text that needs more than a person writes is shown as
// it is. Counted, not timed: what is shown does not depend on the machine.

/** The most that is spent on one text. A long answer of Claude's takes a tenth. */
export const MAX_EFFORT = 6_000_000
// What one piece of the result costs: it becomes an element.
const PIECE = 150
// Lists in quotes in lists: nobody reads deeper.
const MAX_DEPTH = 30
// A line has no longer blank, and no longer word that could be an address.
const MAX_BLANK = 500
const MAX_ADDRESS = 2_000

class TooMuch extends Error {}

let spent = 0
let depth = 0
let deepest = MAX_DEPTH

/** Counts n characters; throws when that is too much for the text that bounded reads. */
export function spend(n: number): void {
  spent += n
  if (spent > MAX_EFFORT) throw new TooMuch()
}

/** What the last text took. */
export const effort = () => spent

/** The result of read, which uses what withEffort made; null when the text needs too much or is nested too deep. */
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
// The rules that look ahead, and the first characters at which they do.
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

/** What a Marked is to use so that its work is counted. */
export const withEffort: MarkedExtension = {
  tokenizer: Object.fromEntries(RULES.map((rule) => [rule, counted(rule)])) as unknown as TokenizerObject,
}

import DOMPurify, { type Config } from 'dompurify'
import { Marked, type Token, type Tokens, type TokensList } from 'marked'
import remend from 'remend'
import { compare } from './compare'
import { numbered } from './diff'
import { bounded, withEffort } from './effort'
import { escape, withMath } from './formula'
import { words } from './words'

// Loaded together with the engine, and not before.
export { default as CodeBlock } from './CodeBlock.vue'
export { default as DrawnBlock } from './DrawnBlock.vue'
export { typeset } from './draw'
export { colour, uncolour } from './highlight'

// Trusted Types: the app creates HTML from text only through this policy, and only behind DOMPurify. The
// server's Content-Security-Policy names it: trusted-types sayso-markdown sayso-worker vue.
const policy = window.trustedTypes?.createPolicy('sayso-markdown', { createHTML: (html) => html })

/** Returns an address that a link may have, or null; relative addresses lead nowhere in a transcript. */
export function safeLink(href: string): string | null {
  try {
    const url = new URL(href)
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null
  } catch {
    return null
  }
}

function link(href: string, inner: string): string {
  const url = safeLink(href)
  if (url === null) return inner
  return `<a href="${escape(url)}" title="${escape(url)}" target="_blank" rel="noopener noreferrer">${inner}</a>`
}

// breaks: line breaks stay line breaks, where Markdown would replace them by spaces.
function reader(breaks: boolean): Marked {
  const marked = new Marked({
    gfm: true,
    breaks,
    renderer: {
      // Raw HTML is text: Claude's output is shown, never run.
      html: (token: Tokens.HTML | Tokens.Tag) => escape(token.text),
      link(token: Tokens.Link) {
        return link(token.href, this.parser.parseInline(token.tokens))
      },
      // A remote image would tell its server that somebody reads the text.
      image: (token: Tokens.Image) => link(token.href, escape(`[image: ${token.text || token.href}]`)),
      checkbox: ({ checked }: Tokens.Checkbox) =>
        `<input type="checkbox" aria-label="${escape(checked ? words.done : words.open)}" disabled${checked ? ' checked' : ''}> `,
      // Content that scrolls sideways must be reachable by keyboard.
      code: (token: Tokens.Code) => `<pre tabindex="0"><code>${escape(token.text)}\n</code></pre>\n`,
      table(token: Tokens.Table) {
        const row = (cells: Tokens.TableCell[], tag: string) =>
          `<tr>${cells.map((c) => `<${tag}>${this.parser.parseInline(c.tokens)}</${tag}>`).join('')}</tr>`
        const body = token.rows.map((r) => row(r, 'td')).join('')
        return `<table tabindex="0"><thead>${row(token.header, 'th')}</thead><tbody>${body}</tbody></table>`
      },
    },
  })
  marked.use(withMath, withEffort)
  return marked
}
const marked = reader(false)
const markedWithBreaks = reader(true)

const trusted = policy ? { TRUSTED_TYPES_POLICY: policy as never } : {}

// One instance for each set of rules: rules passed with a call are parsed every time, which takes longer than
// most texts.
function cleaner(rules: Config) {
  const one = DOMPurify(window)
  one.setConfig({ ...rules, ...trusted })
  return one
}

const CLEAN = {
  ALLOWED_TAGS: [
    'a',
    'blockquote',
    'br',
    'code',
    'del',
    'em',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'hr',
    'input',
    'li',
    'ol',
    'p',
    'pre',
    'strong',
    'table',
    'tbody',
    'td',
    'th',
    'thead',
    'tr',
    'ul',
    'var',
  ],
  ALLOWED_ATTR: ['href', 'title', 'target', 'rel', 'start', 'tabindex', 'type', 'checked', 'disabled', 'aria-label'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ...(policy ? { RETURN_TRUSTED_TYPE: true } : {}),
}
const clean = cleaner(CLEAN)

/** HTML that is safe to show; a TrustedHTML if the browser supports it. */
export type SafeHTML = string | TrustedHTML

/**
 * One block of a text: HTML, or code, which stays text and is colored by highlight.ts. drawn marks the
 * complete source of a diagram or formula.
 */
export type Block = { html: SafeHTML } | { code: string; lang: string; drawn?: true }

const CACHED = 2_000
const cache = new Map<string, SafeHTML>()

function htmlOf(token: Token, links: TokensList['links'], breaks: boolean): SafeHTML {
  // A link definition elsewhere can change the meaning of a block.
  const key = Object.keys(links).length === 0 ? `${breaks}${token.raw}` : null
  const known = key === null ? undefined : cache.get(key)
  if (known !== undefined) return known
  const list = Object.assign([token], { links }) as TokensList
  const safe = clean.sanitize(marked.parser(list)) as unknown as SafeHTML
  if (key !== null) {
    if (cache.size >= CACHED) cache.delete(cache.keys().next().value!)
    cache.set(key, safe)
  }
  return safe
}

const shown = (t: Token) => t.type !== 'space' && t.type !== 'def'

const DRAWN = ['mermaid', 'math']
const closedFence = (raw: string) => {
  const fence = /^ {0,3}(`{3,}|~{3,})/.exec(raw)?.[1]
  const last = raw.trimEnd().split('\n').at(-1)!.trim()
  return fence !== undefined && raw.trimEnd().includes('\n') && last.startsWith(fence) && /^(`+|~+)$/.test(last)
}

function blockOf(token: Token, links: TokensList['links'], breaks = false): Block {
  if (token.type === 'formula') return { code: (token as Tokens.Generic)['text'] as string, lang: 'math', drawn: true }
  if (token.type !== 'code') return { html: htmlOf(token, links, breaks) }
  const { text, lang: info, raw } = token as Tokens.Code
  const lang = /^\S{0,40}/.exec(info ?? '')![0].toLowerCase()
  return DRAWN.includes(lang) && text.trim() !== '' && closedFence(raw)
    ? { code: text, lang, drawn: true }
    : { code: text, lang }
}

const tokensOf = (text: string, by = marked) => bounded(text, () => by.lexer(text))

/** A text as source. */
const asItIs = (text: string): Block => ({ code: text, lang: '' })

/**
 * Returns the blocks of a Markdown text, each sanitized and cached by itself. A text that takes too much
 * effort is one block with its source. breaks: line breaks are kept.
 */
export function blocks(text: string, breaks = false): Block[] {
  const tokens = tokensOf(text, breaks ? markedWithBreaks : marked)
  if (!tokens) return [asItIs(text)]
  return tokens.filter(shown).map((t) => blockOf(t, tokens.links, breaks))
}

// A longer unfinished end is shown as source while it grows, because it would be parsed again for each added
// piece.
const MAX_END = 50_000
// A longer unfinished end is not closed.
const MAX_CLOSED = 8_000

/**
 * Growing parses a growing text, and repeats only its end: everything before the last two blocks can no
 * longer change. The second-to-last block can, because it may merge with what follows ("- a" and then "- b"
 * is one list).
 */
export class Growing {
  private before = ''
  private settled: Block[] = []
  private last: Block[] = []
  private text: string | null = null
  private slow: string | null = null // from this text on, its end is not parsed

  /** end closes unfinished constructs at the end of a text. */
  constructor(private readonly end: (text: string) => string = closed) {}

  /** Returns the blocks of text. Constructs that Claude has not closed yet are closed for display. */
  take(text: string): Block[] {
    if (text === this.text) return this.last
    this.text = text
    // Marked converts line ends, so positions would not match.
    if (text.includes('\r')) return (this.last = blocks(text))
    if (!text.startsWith(this.slow ?? this.before)) {
      this.before = ''
      this.settled = []
      this.slow = null
    }
    const rest = text.slice(this.before.length)
    const tokens = this.slow !== null ? null : tokensOf(rest)
    const defines = tokens !== null && Object.keys(tokens.links).length > 0
    if (defines) {
      // a link definition can change the meaning of settled blocks
      this.before = ''
      this.settled = []
    } else if (tokens) this.settle(tokens)
    const end = text.slice(this.before.length)
    if (!tokens || end.length > MAX_END) {
      this.slow ??= text // otherwise each added piece would be as slow again
      return (this.last = [...this.settled, asItIs(end)])
    }
    return (this.last = defines ? blocks(text) : [...this.settled, ...blocks(this.end(end))])
  }

  private settle(tokens: Token[]): void {
    const firm = firmTokens(tokens)
    if (firm === 0) return
    const done = tokens.slice(0, firm)
    this.before += done.map((t) => t.raw).join('')
    this.settled.push(...done.filter(shown).map((t) => blockOf(t, {})))
  }
}

// Returns how many tokens cannot change whatever is appended: those before the last two blocks, back to a
// blank line.
function firmTokens(tokens: Token[]): number {
  let at = tokens.length
  for (let open = 0; at > 0 && open < 2;) {
    at--
    if (shown(tokens[at]!)) open++
  }
  while (at > 0 && !/\n[ \t]*\n$/.test(tokens[at - 1]!.raw)) at--
  return at
}

// Only the last paragraph can contain an unfinished construct.
function closed(text: string): string {
  if (text.length > MAX_CLOSED) return text
  return remend(text, {
    linkMode: 'text-only',
    images: false,
    htmlTags: false,
    katex: false,
    comparisonOperators: false,
    singleTilde: false,
  })
}

// The text of an asker is next to buttons that decide. So nothing in it can be pressed or look like part of
// the page, and nothing of it is left out: a link shows its text and its target, images and definitions are
// shown as source, escapes and entities stay, and the info string of code is shown above it.
const MAX_COLUMNS = 8 // more do not fit on a phone
const MAX_NESTED = 10 // deeper levels leave no space beside the indents

/** Returns what follows the text of a link: its target. */
function target({ raw, text }: Tokens.Link): string | null {
  const words = `[${text}]`
  return raw.startsWith(words) ? raw.slice(words.length) : null
}

function quietly(headings: boolean): Marked {
  const quiet = new Marked({
    gfm: true,
    renderer: {
      text(token: Tokens.Text | Tokens.Escape) {
        return 'tokens' in token && token.tokens ? this.parser.parseInline(token.tokens) : escape(token.raw)
      },
      html: (token: Tokens.HTML | Tokens.Tag) => (token.block ? `<p>${escape(token.raw)}</p>\n` : escape(token.raw)),
      def: (token: Tokens.Def) => `<p>${escape(token.raw)}</p>\n`,
      link(token: Tokens.Link) {
        if (!token.raw.startsWith('[')) return escape(token.text)
        const to = target(token)
        if (to === null) return escape(token.raw)
        return this.parser.parseInline(token.tokens) + (to === '' ? '' : ` ${escape(to)}`)
      },
      image: (token: Tokens.Image) => escape(token.raw),
      heading(token: Tokens.Heading) {
        const words = this.parser.parseInline(token.tokens)
        return headings ? `<h${token.depth}>${words}</h${token.depth}>\n` : `<p><strong>${words}</strong></p>\n`
      },
      checkbox: (token: Tokens.Checkbox) => escape(token.raw),
      code(token: Tokens.Code) {
        const info =
          token.codeBlockStyle === 'indented'
            ? ''
            : (/^ {0,3}(?:`{3,}|~{3,})([^\n]*)/.exec(token.raw)?.[1]?.trim() ?? '')
        return `${info === '' ? '' : `<p><small>${escape(info)}</small></p>\n`}<pre><code>${escape(token.text)}\n</code></pre>\n`
      },
      list(token: Tokens.List) {
        const tag = token.ordered ? 'ol' : 'ul'
        const items = token.items.map((item) => {
          // As written, because the browser would continue the count.
          const number = token.ordered ? /^\s*(\d{1,3})[.)]/.exec(item.raw)?.[1] : undefined
          return this.listitem(item).replace(/^<li/, number === undefined ? '<li' : `<li value="${Number(number)}"`)
        })
        return `<${tag}>\n${items.join('')}</${tag}>\n`
      },
      table(token: Tokens.Table) {
        if (token.header.length > MAX_COLUMNS) return `<pre>${escape(token.raw)}</pre>\n`
        const row = (cells: Tokens.TableCell[], tag: string) =>
          `<tr>${cells.map((c) => `<${tag}>${this.parser.parseInline(c.tokens)}</${tag}>`).join('')}</tr>`
        return `<table><thead>${row(token.header, 'th')}</thead><tbody>${token.rows.map((r) => row(r, 'td')).join('')}</tbody></table>`
      },
    },
  })
  quiet.use(withEffort)
  return quiet
}

const quiet = quietly(false)
const quietWithHeadings = quietly(true)

const cleanQuiet = cleaner({
  ALLOWED_TAGS: [...CLEAN.ALLOWED_TAGS.filter((tag) => tag !== 'a'), 'small'],
  ALLOWED_ATTR: ['value'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
})

/** How a text of an asker is shown: inline, as paragraphs, or as a document with headings. */
export type Layout = 'line' | 'text' | 'document'

/** inert renders Markdown as elements that can only be read. */
export function inert(text: string, layout: Layout = 'text'): DocumentFragment {
  const reader = layout === 'document' ? quietWithHeadings : quiet
  const html = bounded(
    text,
    () => (layout === 'line' ? reader.parseInline(text, { async: false }) : reader.parse(text, { async: false })),
    MAX_NESTED,
  )
  if (html === null) return plainly(text, layout === 'line')
  return cleanQuiet.sanitize(html) as unknown as DocumentFragment
}

/** plainly returns a text as source, in elements. */
export function plainly(text: string, inline: boolean): DocumentFragment {
  const all = document.createDocumentFragment()
  if (inline) {
    all.append(text)
    return all
  }
  const pre = document.createElement('pre')
  pre.textContent = text
  all.append(pre)
  return all
}

/** A line of a text that is not fully shown. */
export interface Missing {
  /** Its number, from 1. */
  line: number
  text: string
}

// Markdown syntax and white space, which may be missing in the result.
const MARKUP = /[ \t\n*_#`~>|\-+=[\]()\\:<.!\u00a0\u202f\u3000]|\r(?=\n)/g
// A longer list would not be read.
const MAX_MISSING = 100

/**
 * missing returns the lines of a text that contain a letter, digit or symbol which is missing from the
 * rendered text in the same order; null if the texts differ so much that the source should be shown.
 */
export function missing(text: string, shown: Node): Missing[] | null {
  const readText = readable(shown)
  if (text.replace(MARKUP, '') === readText.replace(MARKUP, '')) return []
  // First by words, and then by characters between them, because single characters match by chance.
  const [written, read] = [wordsIn(text), wordsIn(readText)]
  const words = compare(
    ...numbered(
      written.map((w) => w.text),
      read.map((w) => w.text),
    ),
  )
  let { coarse } = words
  const lines = new Set<number>()
  let [i, j] = [0, 0]
  for (const [x, y] of [...words.same, [written.length, read.length] as const]) {
    const gap = written.slice(i, x).flatMap((w) => Array.from(w.text, (c) => ({ char: c, line: w.line })))
    const there = compare(
      ...numbered(
        gap.map((c) => c.char),
        [
          ...read
            .slice(j, y)
            .map((w) => w.text)
            .join(''),
        ],
      ),
    )
    coarse ||= there.coarse
    const found = new Set(there.same.map(([k]) => k))
    gap.forEach((c, k) => !found.has(k) && lines.add(c.line))
    ;[i, j] = [x + 1, y + 1]
  }
  if (coarse || lines.size > MAX_MISSING) return null
  const all = text.split('\n')
  return [...lines].map((line) => ({ line: line + 1, text: all[line]! }))
}

/** Returns the parts of a text between syntax and white space, each with its line from 0. */
function wordsIn(text: string): { text: string; line: number }[] {
  const out: { text: string; line: number }[] = []
  let line = 0
  let from = 0
  const put = (to: number) => void (to > from && out.push({ text: text.slice(from, to), line }))
  for (const match of text.matchAll(MARKUP)) {
    put(match.index)
    from = match.index + 1
    if (match[0] === '\n') line++
  }
  put(text.length)
  return out
}

const WITHIN_A_WORD = /^(EM|STRONG|DEL|CODE|SMALL)$/

/** Returns the text of elements as people read it, including the numbers of lists. */
function readable(node: Node): string {
  if (node instanceof Text) return node.data
  let text = node instanceof HTMLLIElement && node.hasAttribute('value') ? `${node.getAttribute('value')} ` : ''
  for (const child of node.childNodes) text += readable(child)
  return node instanceof Element && !WITHIN_A_WORD.test(node.tagName) ? `${text}\n` : text
}

import DOMPurify, { type Config } from 'dompurify'
import { Marked, type Token, type Tokens, type TokensList } from 'marked'
import remend from 'remend'
import { bounded, withEffort } from './effort'

// Wanted as soon as there is markdown, and not before.
export { default as CodeBlock } from './CodeBlock.vue'

// Trusted Types: this policy is the only way of this app's own to make HTML out
// of text, and it is reached only behind DOMPurify. The server's
// Content-Security-Policy names it: trusted-types sayso-markdown sayso-worker vue.
const policy = window.trustedTypes?.createPolicy('sayso-markdown', { createHTML: (html) => html })

const escape = (text: string) =>
  text.replace(/[&<>"']/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[c]!)

/** An address that a link may lead to, or null: relative ones lead nowhere in a transcript. */
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

const marked = new Marked({
  gfm: true,
  renderer: {
    // Raw HTML is text: what Claude writes is shown, never run.
    html: (token: Tokens.HTML | Tokens.Tag) => escape(token.text),
    link(token: Tokens.Link) {
      return link(token.href, this.parser.parseInline(token.tokens))
    },
    // A remote image would tell its server that someone reads.
    image: (token: Tokens.Image) => link(token.href, escape(`[image: ${token.text || token.href}]`)),
    checkbox: ({ checked }: Tokens.Checkbox) => (checked ? '☑ ' : '☐ '),
    // What scrolls sideways must be reachable without a pointer.
    code: (token: Tokens.Code) => `<pre tabindex="0"><code>${escape(token.text)}\n</code></pre>\n`,
    table(token: Tokens.Table) {
      const row = (cells: Tokens.TableCell[], tag: string) =>
        `<tr>${cells.map((c) => `<${tag}>${this.parser.parseInline(c.tokens)}</${tag}>`).join('')}</tr>`
      const body = token.rows.map((r) => row(r, 'td')).join('')
      return `<table><thead>${row(token.header, 'th')}</thead><tbody>${body}</tbody></table>`
    },
  },
})

marked.use(withEffort)

const trusted = policy ? { TRUSTED_TYPES_POLICY: policy as never } : {}

// One for each set of rules: given with a call, they would be read anew each time,
// which takes longer than most texts.
function cleaner(rules: Config) {
  const one = DOMPurify(window)
  one.setConfig({ ...rules, ...trusted })
  return one
}

const CLEAN = {
  ALLOWED_TAGS: [
    'a', 'blockquote', 'br', 'code', 'del', 'em', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'li', 'ol', 'p', 'pre',
    'strong', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul',
  ],
  ALLOWED_ATTR: ['href', 'title', 'target', 'rel', 'start', 'tabindex'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ...(policy ? { RETURN_TRUSTED_TYPE: true } : {}),
}
const clean = cleaner(CLEAN)

/** HTML that may be shown; a TrustedHTML where the browser knows such. */
export type SafeHTML = string | TrustedHTML

/** One block of a text: HTML, or code that stays text and is coloured by highlight.ts. */
export type Block = { html: SafeHTML } | { code: string; lang: string }

const CACHED = 2_000
const cache = new Map<string, SafeHTML>()

function htmlOf(token: Token, links: TokensList['links']): SafeHTML {
  // A definition elsewhere can change what a block means.
  const key = Object.keys(links).length === 0 ? token.raw : null
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

function blockOf(token: Token, links: TokensList['links']): Block {
  if (token.type !== 'code') return { html: htmlOf(token, links) }
  const { text, lang } = token as Tokens.Code
  return { code: text, lang: /^\S{0,40}/.exec(lang ?? '')![0].toLowerCase() }
}

const tokensOf = (text: string) => bounded(text, () => marked.lexer(text))

/** A text as it was written. */
const asItIs = (text: string): Block => ({ code: text, lang: '' })

/**
 * The blocks of a markdown text, each cleaned on its own and remembered. A text
 * made to be slow is one block, as it was written.
 */
export function blocks(text: string): Block[] {
  const tokens = tokensOf(text)
  if (!tokens) return [asItIs(text)]
  return tokens.filter(shown).map((t) => blockOf(t, tokens.links))
}

// An end that is longer, and not settled, is shown as it is while it grows: it would
// be read from its begin for each piece that comes.
const LONGEST_END = 50_000
// Of a longer one nothing is closed.
const LONGEST_CLOSED = 8_000

/**
 * Growing reads a text that grows at its end, and reads again only that end: what
 * lies before its last two blocks, the nearer of which may yet merge with what
 * comes ("- a" and then "- b" is one list), can no longer change.
 */
export class Growing {
  private before = ''
  private settled: Block[] = []
  private last: Block[] = []
  private text: string | null = null
  private slow: string | null = null // since this text its end is not read any more

  /** end closes what is half written at the end of a text. */
  constructor(private readonly end: (text: string) => string = closed) {}

  /** The blocks of text; ends that Claude has not closed yet are closed for show. */
  take(text: string): Block[] {
    if (text === this.text) return this.last
    this.text = text
    // marked makes one character of a line end, so the places would not agree.
    if (text.includes('\r')) return (this.last = blocks(text))
    if (!text.startsWith(this.slow ?? this.before)) {
      this.before = ''
      this.settled = []
      this.slow = null
    }
    const rest = text.slice(this.before.length)
    const tokens = this.slow !== null ? null : tokensOf(rest)
    const defines = tokens !== null && Object.keys(tokens.links).length > 0
    if (defines) { // which means something to what is settled already
      this.before = ''
      this.settled = []
    } else if (tokens) this.settle(tokens)
    const end = text.slice(this.before.length)
    if (!tokens || end.length > LONGEST_END) {
      this.slow ??= text // else each piece that comes would be as slow again
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

// How many of the tokens stay as they are whatever is appended: those before the
// last two blocks, back to a blank line.
function firmTokens(tokens: Token[]): number {
  let at = tokens.length
  for (let open = 0; at > 0 && open < 2;) {
    at--
    if (shown(tokens[at]!)) open++
  }
  while (at > 0 && !/\n[ \t]*\n$/.test(tokens[at - 1]!.raw)) at--
  return at
}

// Only the last paragraph can hold what is half written.
function closed(text: string): string {
  if (text.length > LONGEST_CLOSED) return text
  return remend(text, { linkMode: 'text-only', images: false, htmlTags: false, katex: false, comparisonOperators: false, singleTilde: false })
}

// What an asker writes stands beside buttons that decide, so nothing in it can
// be pressed or looks like a part of the page: links and images are their words
// and their address, headings are strong words.
const quiet = new Marked({
  gfm: true,
  renderer: {
    html: (token: Tokens.HTML | Tokens.Tag) => escape(token.text),
    link(token: Tokens.Link) {
      const words = this.parser.parseInline(token.tokens)
      return token.text === token.href ? words : `${words} (${escape(token.href)})`
    },
    image: (token: Tokens.Image) => escape(`[image: ${token.text || token.href}]${token.text ? ` (${token.href})` : ''}`),
    heading(token: Tokens.Heading) {
      return `<p><strong>${this.parser.parseInline(token.tokens)}</strong></p>\n`
    },
    checkbox: ({ checked }: Tokens.Checkbox) => (checked ? '☑ ' : '☐ '),
    code: (token: Tokens.Code) => `<pre><code>${escape(token.text)}\n</code></pre>\n`,
  },
})

quiet.use(withEffort)

const cleanQuiet = cleaner({
  ALLOWED_TAGS: CLEAN.ALLOWED_TAGS.filter((tag) => tag !== 'a' && !/^h[1-6]$/.test(tag)),
  ALLOWED_ATTR: ['start'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
})

/** A markdown text as elements with which nothing can be done but reading them. */
export function inert(text: string, inline = false): DocumentFragment {
  const html = bounded(text, () => (inline ? quiet.parseInline(text, { async: false }) : quiet.parse(text, { async: false })))
  if (html === null) return plainly(text, inline)
  return cleanQuiet.sanitize(html) as unknown as DocumentFragment
}

function plainly(text: string, inline: boolean): DocumentFragment {
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

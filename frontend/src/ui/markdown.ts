import DOMPurify from 'dompurify'
import { Marked, type Token, type Tokens, type TokensList } from 'marked'

// Trusted Types: this policy is the only way of this app's own to make HTML out
// of text, and it is reached only behind DOMPurify. The server's
// Content-Security-Policy names it: trusted-types sayso-markdown vue.
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

const CLEAN = {
  ALLOWED_TAGS: [
    'a', 'blockquote', 'br', 'code', 'del', 'em', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'li', 'ol', 'p', 'pre',
    'strong', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul',
  ],
  ALLOWED_ATTR: ['href', 'title', 'target', 'rel', 'start', 'tabindex'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ...(policy ? { RETURN_TRUSTED_TYPE: true as const, TRUSTED_TYPES_POLICY: policy as never } : {}),
}

/** HTML that may be shown; a TrustedHTML where the browser knows such. */
export type SafeHTML = string | TrustedHTML

const CACHED = 2_000
const cache = new Map<string, SafeHTML>()

function htmlOf(token: Token, links: TokensList['links']): SafeHTML {
  // A definition elsewhere can change what a block means.
  const key = Object.keys(links).length === 0 ? token.raw : null
  const known = key === null ? undefined : cache.get(key)
  if (known !== undefined) return known
  const list = Object.assign([token], { links }) as TokensList
  const safe = DOMPurify.sanitize(marked.parser(list), CLEAN) as unknown as SafeHTML
  if (key !== null) {
    if (cache.size >= CACHED) cache.delete(cache.keys().next().value!)
    cache.set(key, safe)
  }
  return safe
}

/**
 * The blocks of a markdown text, each cleaned on its own and remembered, so that
 * of a text that grows only the last block is worked on.
 */
export function blocks(text: string): SafeHTML[] {
  const tokens = marked.lexer(text)
  return tokens.filter((t) => t.type !== 'space' && t.type !== 'def').map((t) => htmlOf(t, tokens.links))
}

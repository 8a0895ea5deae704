import type { ComputedRef, InjectionKey } from 'vue'
import { hiddenCount } from './hidden'
import { insidePath } from './path'
import './pathLinks.css'

/** A part of a text that names a file in the folder of a session. */
export interface PathPart {
  readonly from: number
  readonly to: number
  /** Relative to the folder. */
  readonly path: string
  /** From 1; 0 for none. */
  readonly line: number
}

/** Where links to files lead. */
export interface PathLinks {
  /** The folder of the session. */
  readonly cwd: string
  address(path: string, line: number): string
}

/** Where the path of a card's or tool call's file leads; not provided if the page cannot show files. */
export const filePathKey: InjectionKey<ComputedRef<PathLinks | null>> = Symbol('file path')
/** The same for paths within texts. Cards have no such links, because their text is what runs. */
export const pathLinksKey: InjectionKey<ComputedRef<PathLinks | null>> = Symbol('path links')

// A URL is matched as a whole, so that no part of it becomes a path.
const WORDS =
  /[a-z][a-z\d+.-]*:\/\/[^\s<>"'`]*|(?:[\p{L}\p{M}\p{N}_.+@~/-]|(?<=\/)\[[\p{L}\p{N}_.-]{1,100}\](?=[/.]))+/giu
const LINE = /^(?::(\d{1,7})(?::\d{1,5}|-\d{1,7})?|\((\d{1,7})(?:,\d{1,5})?\)|#L(\d{1,7}))(?![\w/])/
const LINE_LENGTH = 24
/** Extensions of source files, which a name without a folder needs. */
const ENDINGS = new Set(
  (
    'astro bash bat c cc cfg clj cljs cmake conf cpp cs css csv cts cxx dart diff dockerfile env erl ex exs fish ' +
    'fs gif go gql gradle graphql groovy h hbs hcl hh hpp hs html ini ipynb java jl jpeg jpg js json json5 jsonc jsx kt kts ' +
    'less lock log lua m markdown md mdx mjs mm mod nim nix pdf php pl plist png properties proto ps1 py pyi r ' +
    'rake rb rs rst sass scala scss service sh snap sol sql sum svelte svg swift tex tf toml ts tsv tsx txt vim ' +
    'vue webp xml yaml yml zig zsh'
  ).split(' '),
)
const NAMES = /^(?:(?:GNU)?[Mm]akefile|(?:Docker|Container|Gem|Proc|Vagrant|Brew)file|Justfile|LICENSE|CODEOWNERS)$/
const ENDING = /[^/.]\.([a-z][a-z\d]{1,9}|[chmrRS]|json5|ps1)$/
const DOMAIN =
  /^[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|ai|app|edu|gov|de|eu|uk|fr|ch|at|nl|jp|cn|us|example|test|localhost)$/i
const DIFF_LINE = /^(?:diff --git |--- |\+\+\+ )/
const DIFF_PREFIX = 'diff --git '.length

/** Limits for one text: parsed characters, and links. */
const MAX_READ = 200_000
const MAX_LINKS = 400

/**
 * Returns the parts of a text that look like files in the folder cwd, in order. It takes linear time and does
 * not check whether the files exist. A name without a folder counts only in code or with a line number.
 */
export function pathsIn(text: string, cwd: string, code = false): PathPart[] {
  const found: PathPart[] = []
  if (!cwd.startsWith('/') || !/[/.]/.test(text)) return found
  const read = text.length > MAX_READ ? text.slice(0, MAX_READ) : text
  let lineStart = 0
  let lineEnd = read.indexOf('\n')
  for (const match of read.matchAll(WORDS)) {
    let from = match.index
    let word = match[0]
    if (!/[/.]/.test(word) || word.includes('://')) continue
    while (lineEnd >= 0 && lineEnd < from) {
      lineStart = lineEnd + 1
      lineEnd = read.indexOf('\n', lineStart)
    }
    if (word.startsWith('@')) {
      from++ // a mention
      word = word.slice(1)
    }
    let length = word.length
    while (length > 0 && '.~+-'.includes(word[length - 1]!)) length--
    word = word.slice(0, length)
    const end = from + word.length
    const next = read[end] ?? ''
    const line = LINE.exec(read.slice(end, end + LINE_LENGTH))
    if (next === '(' && !line) continue // a call
    if (/^[ab]\//.test(word) && DIFF_LINE.test(read.slice(lineStart, lineStart + DIFF_PREFIX))) {
      from += 2
      word = word.slice(2)
    }
    if (!looksLikeFile(word, code || line !== null)) continue
    const path = insidePath(word, cwd)
    if (path === null || hiddenCount(word) > 0) continue
    found.push({
      from,
      to: end + (line?.[0].length ?? 0),
      path,
      line: Number(line?.[1] ?? line?.[2] ?? line?.[3] ?? 0),
    })
    if (found.length === MAX_LINKS) break
  }
  return found
}

function looksLikeFile(word: string, alone: boolean): boolean {
  if (word.endsWith('/') || word.includes('//')) return false
  if (word.startsWith('/')) return true // insidePath decides
  const name = word.slice(word.lastIndexOf('/') + 1)
  const ending = ENDING.exec(word)?.[1]
  if (name === word) return alone && (NAMES.test(name) || (ending !== undefined && ENDINGS.has(ending.toLowerCase())))
  if (!NAMES.test(name) && ending === undefined) return false
  return !DOMAIN.test(word.slice(0, word.indexOf('/')))
}

/** A part of a text, which may be a link. */
export interface PathPiece {
  readonly text: string
  readonly link: PathPart | null
}

/** Splits a text into parts, in order. */
export function pathPieces(text: string, cwd: string, code = false): PathPiece[] {
  const out: PathPiece[] = []
  let at = 0
  for (const link of pathsIn(text, cwd, code)) {
    if (link.from > at) out.push({ text: text.slice(at, link.from), link: null })
    out.push({ text: text.slice(link.from, link.to), link })
    at = link.to
  }
  if (at < text.length) out.push({ text: text.slice(at), link: null })
  return out
}

/** The class of file links, whose clicks the session view handles. */
export const PATH_LINK = 'path-link'

/** Turns the paths in an element's text into links. */
export function linkPaths(root: Element, links: PathLinks): void {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  const all: [Text, PathPart[]][] = []
  let left = MAX_LINKS
  for (let node = walker.nextNode() as Text | null; node && left > 0; node = walker.nextNode() as Text | null) {
    if (node.parentElement?.closest('a, pre')) continue
    const parts = pathsIn(node.data, links.cwd, node.parentElement?.tagName === 'CODE').slice(0, left)
    if (parts.length > 0) all.push([node, parts])
    left -= parts.length
  }
  for (const [node, parts] of all)
    for (const part of parts.toReversed()) {
      node.splitText(part.to)
      const inner = node.splitText(part.from)
      const link = document.createElement('a')
      link.className = PATH_LINK
      link.href = links.address(part.path, part.line)
      inner.replaceWith(link)
      link.append(inner)
    }
}

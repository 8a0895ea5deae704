import type { Catalog, CatalogCommand } from '@/wire/messages.gen'

/** The mention or command that is being written at the caret. */
export interface Token {
  readonly kind: '@' | '/'
  /** The positions in the text of its start and of the caret. */
  readonly from: number
  readonly to: number
  /** The text after the @ or /. */
  readonly query: string
  /** Whether only spaces precede it: Claude Code runs its own commands only there. */
  readonly first: boolean
}

const TOKEN = /(?:^|\s)(?:@"([^"\n]*)|@([^\s"@]*)|\/([\w:.-]*))$/
/** How much text before the caret is searched: no path is longer. */
const REACH = 4096

/** tokenAt returns the mention or command that ends at the caret, or null. */
export function tokenAt(text: string, caret: number): Token | null {
  const start = Math.max(0, caret - REACH)
  const before = text.slice(start, caret)
  const found = TOKEN.exec(before)
  if (!found) return null
  const [whole, quoted, path, command] = found
  const from = start + found.index + (/^\s/.test(whole) ? 1 : 0)
  const query = quoted ?? path ?? command ?? ''
  const first = text.slice(0, from).trim() === ''
  return { kind: command === undefined ? '@' : '/', from, to: caret, query, first }
}

/** An option, and the text that it inserts. */
export interface Option {
  readonly icon: 'file' | 'agent' | 'model' | 'slash'
  readonly label: string
  readonly hint: string
  readonly detail: string
  readonly text: string
  readonly mono: boolean
}
export interface Group {
  readonly title: 'files' | 'agents' | 'skills' | 'commands'
  readonly options: readonly Option[]
}

const MAX_FILES = 10
const MAX_AGENTS = 5

/** mentions returns the files and subagents that match the text after an @. */
export function mentions(query: string, paths: readonly string[], catalog: Catalog | null): Group[] {
  const wanted = query.toLowerCase().replace(/^agent-/, '')
  const agents = (catalog?.agents ?? []).filter((a) => a.name.toLowerCase().includes(wanted))
  return groups(
    {
      title: 'files',
      options: paths.slice(0, MAX_FILES).map((path) => ({
        icon: 'file',
        label: path,
        hint: '',
        detail: '',
        text: /[\s"]/.test(path) ? `@"${path}" ` : `@${path} `,
        mono: true,
      })),
    },
    {
      title: 'agents',
      options: agents.slice(0, MAX_AGENTS).map((a) => ({
        icon: 'agent',
        label: a.name,
        hint: '',
        detail: a.description,
        text: `@agent-${a.name} `,
        mono: false,
      })),
    },
  )
}

/**
 * commands returns the commands and skills that match the text after a /. Within a message, only skills
 * match, because Claude uses them where they are named; an older CLI does not distinguish them.
 */
export function commands(token: Token, catalog: Catalog | null): Group[] {
  const all = catalog?.commands ?? []
  const marked = all.some((c) => c.builtin)
  const query = token.query.toLowerCase()
  const found = all
    .filter((c) => token.first || (marked && !c.builtin))
    .map((command) => ({ command, rank: rankOf(command, query) }))
    .filter(({ rank }) => rank < NO_MATCH)
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ command }) => command)
  const option = (c: CatalogCommand): Option => ({
    icon: marked && !c.builtin ? 'model' : 'slash',
    label: `/${c.name}`,
    hint: c.argument_hint,
    detail: c.description,
    text: `/${c.name} `,
    mono: false,
  })
  return groups(
    { title: 'skills', options: found.filter((c) => marked && !c.builtin).map(option) },
    { title: 'commands', options: found.filter((c) => !marked || c.builtin).map(option) },
  )
}

const NO_MATCH = 4
function rankOf(c: CatalogCommand, query: string): number {
  const names = [c.name, ...c.aliases].map((n) => n.toLowerCase())
  if (names[0]!.startsWith(query)) return 0
  if (names.some((n) => n.startsWith(query))) return 1
  if (names[0]!.includes(query)) return 2
  return query.length > 2 && c.description.toLowerCase().includes(query) ? 3 : NO_MATCH
}

const groups = (...all: Group[]) => all.filter((g) => g.options.length > 0)

import { may, mayApprove } from '@/project/rights'
import { shownPath } from '@/text/path'
import type { Item, Request, Role } from '@/wire/messages.gen'
import { obstacle, type Facts } from './decide'
import { asInput } from './edit'
import type { Waiting } from './groups'
import { needsIndividualReview } from './individualReview'

/** How many requests of several sessions one confirmation may approve: as many as a person reads. */
export const MAX_BATCH = 20

/** factsOf returns the facts about a request in a list. The list shows all of it, so it counts as seen. */
export const factsOf = ({ session, request }: Waiting, role: Role | undefined): Facts => ({
  armed: true,
  stale: false,
  phase: request.held && !request.held.dropped ? 'held' : 'open',
  mayAnswer: may(session, 'answer', role),
  mayApprove: mayApprove(session, request, role),
  othersWrite: false,
  seen: true,
  known: true,
  valid: true,
  level: request.risk,
  defaultToNo: request.default_to_no === true,
  individualOnly: needsIndividualReview(request),
  confirmed: false,
})

/** batchable reports whether a request may be approved together with others; group is true if all are of its session. */
export const batchable = (w: Waiting, role: Role | undefined, group = false): boolean =>
  obstacle('approve', factsOf(w, role), { by: 'batch', open: w.request.status === 'open', group }) === null

export type BatchProblem = 'high' | 'risk' | 'mixed' | 'many' | 'rights'

/** batchProblem returns why requests of several sessions cannot be approved together, null if they can. */
export function batchProblem(list: readonly Waiting[], role: Role | undefined): BatchProblem | null {
  if (list.some((w) => w.request.risk === 'high')) return 'high'
  if (list.some((w) => w.request.risk !== 'low' || needsIndividualReview(w.request) || w.request.status !== 'open'))
    return 'risk'
  if (!list.every((w) => batchable(w, role))) return 'rights'
  if (new Set(list.map((w) => w.request.tool_name)).size > 1) return 'mixed'
  return list.length > MAX_BATCH ? 'many' : null
}

/** Line is a request in a list. */
export interface Line {
  /** The host or folder under which it is listed; '' if its tool has none. */
  place: string
  /** The command, or the URL or path without its place. */
  text: string
  /** The rest of the input that is short enough for a list. */
  more: string
  /** Whether the list omits something, so that the request must be opened to be read. */
  partial: boolean
}

// Fields that the list shows in its own way or not at all. The prompt of a fetch is not sent to the host.
const LISTED: Readonly<Record<string, readonly string[]>> = {
  WebFetch: ['url', 'prompt'],
  Bash: ['command', 'description'],
}
const MAX_CHARS = 200

/** lineOf returns a request as a line of a list. Paths are relative to cwd, the folder of its session. */
export function lineOf(request: Request, cwd: string): Line {
  const input = asInput(request.tool_input)
  const str = (name: string) => (typeof input[name] === 'string' ? input[name] : '')
  const rest = (...shown: readonly string[]) =>
    Object.entries(input)
      .filter(([name]) => !shown.includes(name))
      .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
      .join('\n')
  const lined = (line: Omit<Line, 'more' | 'partial'>, more: string): Line =>
    more.length > MAX_CHARS ? { ...line, more: '', partial: true } : { ...line, more, partial: false }

  const url = str('url')
  if (request.tool_name === 'WebFetch' && url !== '') {
    const place = placeOf(url)
    const text = place !== '' ? url.slice(url.indexOf(place) + place.length) || '/' : url
    return lined({ place, text }, rest(...LISTED['WebFetch']!))
  }
  const command = str('command')
  if (request.tool_name === 'Bash' && command !== '')
    return lined({ place: '', text: command }, rest(...LISTED['Bash']!))
  const changes = ['Edit', 'MultiEdit', 'Write', 'NotebookEdit'].includes(request.tool_name)
  const field = ['file_path', 'notebook_path'].find((name) => str(name) !== '')
  if (field) {
    const path = shownPath(str(field), cwd).text
    const at = path.lastIndexOf('/') + 1
    const line = { place: path.slice(0, at) || './', text: path.slice(at) || path }
    return changes ? { ...line, more: '', partial: true } : lined(line, rest(field))
  }
  return { place: '', text: rest(), more: '', partial: false }
}

/** Returns the place of a URL: its host for https, its origin for http, and '' if the URL has a user or an unusual form. */
function placeOf(url: string): string {
  return /^https:\/\/([a-z0-9.-]+(?::\d+)?)(?=[/?#]|$)/.exec(url)?.[1] ?? originOf(url)
}
const originOf = (url: string) => /^http:\/\/[a-z0-9.-]+(?::\d+)?(?=[/?#]|$)/.exec(url)?.[0] ?? ''

/** fetchedFrom returns the places of the pages that Claude has fetched in a transcript. */
export function fetchedFrom(items: readonly Item[]): Set<string> {
  return new Set(
    items.flatMap((it) =>
      it.kind === 'tool_call' && it.tool_name === 'WebFetch' && it.status === 'done'
        ? [placeOf(String(asInput(it.input)['url'] ?? ''))]
        : [],
    ),
  )
}

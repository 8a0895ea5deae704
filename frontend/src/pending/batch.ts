import { may, mayApprove } from '@/project/rights'
import { shownPath } from '@/text/path'
import type { Item, Request, Role } from '@/wire/messages.gen'
import { obstacle, type Facts } from './decide'
import { asInput } from './edit'
import type { Waiting } from './groups'
import { needsOwnLook } from './ownLook'

/** The most that one confirmation approves in several sessions: no more than a person reads. */
export const MAX_BATCH = 20

/** What is known of a request in a list, which shows all of it, so it counts as seen there. */
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
  ownLook: needsOwnLook(request),
  confirmed: false,
})

/** Whether a request may be approved together with others; group when those are of its session. */
export const batchable = (w: Waiting, role: Role | undefined, group = false): boolean =>
  obstacle('approve', factsOf(w, role), { by: 'batch', open: w.request.status === 'open', group }) === null

export type BatchProblem = 'high' | 'risk' | 'mixed' | 'many' | 'rights'

/** What stands in the way of approving requests of several sessions together; null when nothing does. */
export function batchProblem(list: readonly Waiting[], role: Role | undefined): BatchProblem | null {
  if (list.some((w) => w.request.risk === 'high')) return 'high'
  if (list.some((w) => w.request.risk !== 'low' || needsOwnLook(w.request) || w.request.status !== 'open'))
    return 'risk'
  if (!list.every((w) => batchable(w, role))) return 'rights'
  if (new Set(list.map((w) => w.request.tool_name)).size > 1) return 'mixed'
  return list.length > MAX_BATCH ? 'many' : null
}

/** How a request is listed. */
export interface Line {
  /** The host or folder under which it is listed; '' where a tool has none. */
  place: string
  /** The command, or what of the address or path its place does not say. */
  text: string
  /** The rest of the input that is short enough for a list. */
  more: string
  /** The list does not say all: it has to be opened to be read. */
  partial: boolean
}

// What is asked of a page is not what is sent to its host.
const APART: Readonly<Record<string, readonly string[]>> = {
  WebFetch: ['url', 'prompt'],
  Bash: ['command', 'description'],
}
const MOST_CHARS = 200

/** lineOf returns how a request is listed in a session that works in cwd. */
export function lineOf(request: Request, cwd: string): Line {
  const input = asInput(request.tool_input)
  const str = (name: string) => (typeof input[name] === 'string' ? input[name] : '')
  const rest = (...shown: readonly string[]) =>
    Object.entries(input)
      .filter(([name]) => !shown.includes(name))
      .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
      .join('\n')
  const lined = (line: Omit<Line, 'more' | 'partial'>, more: string): Line =>
    more.length > MOST_CHARS ? { ...line, more: '', partial: true } : { ...line, more, partial: false }

  const url = str('url')
  if (request.tool_name === 'WebFetch' && url !== '') {
    const place = placeOf(url)
    const text = place !== '' ? url.slice(url.indexOf(place) + place.length) || '/' : url
    return lined({ place, text }, rest(...APART['WebFetch']!))
  }
  const command = str('command')
  if (request.tool_name === 'Bash' && command !== '')
    return lined({ place: '', text: command }, rest(...APART['Bash']!))
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

/** The host of an address that is nothing but https, its host and a path; else ''. */
function placeOf(url: string): string {
  return /^https:\/\/([a-z0-9.-]+(?::\d+)?)(?=[/?#]|$)/.exec(url)?.[1] ?? originOf(url)
}
const originOf = (url: string) => /^http:\/\/[a-z0-9.-]+(?::\d+)?(?=[/?#]|$)/.exec(url)?.[0] ?? ''

/** The places of the pages that Claude has fetched in a transcript. */
export function fetchedFrom(items: readonly Item[]): Set<string> {
  return new Set(
    items.flatMap((it) =>
      it.kind === 'tool_call' && it.tool_name === 'WebFetch' && it.status === 'done'
        ? [placeOf(String(asInput(it.input)['url'] ?? ''))]
        : [],
    ),
  )
}

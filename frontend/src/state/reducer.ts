import type {
  Ack,
  Attachment,
  Bookmark,
  ErrorBody,
  Hello,
  Item,
  KeptDraft,
  Lifecycle,
  Machine,
  Live,
  LiveAppend,
  Notice,
  ProcessState,
  Request,
  Resolved,
  ServerFrame,
  Session,
  Transcript,
  User,
  ViewerInfo,
} from '@/wire/messages.gen'
import type { DurableCommand } from '@/wire/commands'

/** SessionState is a session as this tab knows it. */
export interface SessionState extends ProcessState {
  /** Time of the last activity, Unix seconds; ended sessions are sorted by it. */
  updated_at: number
  /**
   * True if this state was not sent by the server, but concluded because the session is missing
   * among the active ones, or taken from the list. A state with the same version replaces it.
   */
  assumed?: boolean
}

export interface TranscriptState {
  readonly items: readonly Item[]
  /** Where to continue after a reconnect. */
  readonly cursor: number
  readonly total: number
  readonly live: Live | null
  /** Whether the server is about to send more. */
  readonly more: boolean
  /** Whether a frame did not fit, so that the transcript must be requested again. */
  readonly hasGap?: boolean
}

/** Exit is why a process ended. */
export type Exit = Pick<ProcessState, 'error' | 'kill_reason' | 'reasons'>

/** ClosedRequest is a request that is no longer open. */
export interface ClosedRequest {
  readonly request: Request
  readonly session_id: string
  /** In milliseconds of this machine's clock. */
  readonly closed_at: number
  /** The exit of the process that asked, if it ended the request. */
  readonly exit: Exit | null
}

export interface State {
  readonly user: User | null
  readonly serverVersion: string
  /** Whether the server runs another version than the one this page was loaded from. */
  readonly updated: boolean
  /** The server's clock minus this machine's, in seconds. */
  readonly skew: number
  /** Why the store rejects writes; null if it accepts them. */
  readonly notice: Notice | null
  /** The machines on which sessions run; null until the server has sent them. */
  readonly machines: readonly Machine[] | null
  /** Whether the full set of active sessions has arrived once. */
  readonly complete: boolean
  readonly sessions: ReadonlyMap<string, SessionState>
  readonly transcripts: ReadonlyMap<string, TranscriptState>
  readonly closed: ReadonlyMap<string, ClosedRequest>
  /** How requests were resolved, by request_id, from transcripts and acks. */
  readonly resolutions: ReadonlyMap<string, Resolved>
  /** The last ack to an answer of this tab, by request_id. */
  readonly acks: ReadonlyMap<string, Ack>
  /** The last message of this tab that was refused, by session_id. */
  readonly refused: ReadonlyMap<string, Refused>
  /** Who is viewing a session, by session_id. */
  readonly viewers: ReadonlyMap<string, readonly ViewerInfo[]>
  /** The progress that an agent reported last, by session_id. */
  readonly lifecycles: ReadonlyMap<string, Lifecycle>
  /** The pins and read positions of this person on any device, by session_id; null before they arrived. */
  readonly bookmarks: ReadonlyMap<string, Bookmark> | null
  /** The drafts of this person on any device, by session and request. */
  readonly drafts: ReadonlyMap<string, KeptDraft>
}

interface Refused {
  readonly command_id: string
  readonly text: string
  readonly attachments?: readonly Attachment[]
  readonly error: ErrorBody | null
}

export const empty: State = {
  user: null,
  serverVersion: '',
  updated: false,
  skew: 0,
  notice: null,
  machines: null,
  complete: false,
  sessions: new Map(),
  transcripts: new Map(),
  closed: new Map(),
  resolutions: new Map(),
  acks: new Map(),
  refused: new Map(),
  viewers: new Map(),
  lifecycles: new Map(),
  bookmarks: null,
  drafts: new Map(),
}

/** Listing is a response of the REST API in the form of a frame. */
export interface Listing {
  type: 'listing'
  sessions: Session[]
}

export interface Context {
  /** Milliseconds. */
  now: number
  /** The command of this tab that an ack answers. */
  commandOf(commandID: string): DurableCommand | undefined
}

// How many closed requests a tab keeps, for the notices of the last seconds.
const MAX_CLOSED = 100

/**
 * Returns the state after a frame. Frames may arrive twice, late or out of order: the version,
 * cursor or rev decides which is newer, never the order of arrival.
 */
export function reduce(state: State, frame: ServerFrame | Listing, context: Context): State {
  switch (frame.type) {
    case 'batch':
      return frame.frames.reduce((s, f) => reduce(s, f, context), state)
    case 'hello':
      return applyHello(state, frame, context)
    case 'active_processes':
      return applyActiveProcesses(state, frame.processes, context)
    case 'process_state':
      return applyProcessState(state, frame, context)
    case 'transcript':
      return applyTranscript(state, frame)
    case 'live_append':
      return applyLiveAppend(state, frame)
    case 'ack':
      return applyAck(state, frame, context)
    case 'listing':
      return applyListing(state, frame.sessions)
    case 'presence':
      return { ...state, viewers: new Map(state.viewers).set(frame.session_id, frame.viewers) }
    case 'lifecycle': {
      const known = state.lifecycles.get(frame.session_id)
      if (known && known.at > frame.at) return state
      return { ...state, lifecycles: new Map(state.lifecycles).set(frame.session_id, frame) }
    }
    case 'draft': {
      const key = `${frame.session_id}/${frame.request_id ?? ''}`
      if ((state.drafts.get(key)?.at ?? 0) > frame.at) return state
      return { ...state, drafts: new Map(state.drafts).set(key, frame) }
    }
    case 'bookmarks': {
      const bookmarks = new Map(state.bookmarks)
      for (const b of frame.bookmarks) if ((bookmarks.get(b.session_id)?.at ?? 0) < b.at) bookmarks.set(b.session_id, b)
      return { ...state, bookmarks }
    }
    case 'notice':
      return { ...state, notice: frame }
    case 'machines':
      return { ...state, machines: frame.machines }
    case 'toasts':
      // This app needs no toasts besides the inbox; other clients show them.
      return state
    case 'error':
      // The person's rights have changed. The next connection sends what they may see now.
      return frame.code === 'access_changed'
        ? { ...empty, user: state.user, serverVersion: state.serverVersion, updated: state.updated, skew: state.skew }
        : state
    default:
      // A newer server may send frames that this page does not know.
      frame satisfies never
      return state
  }
}

function applyHello(state: State, frame: Hello, context: Context): State {
  return {
    ...state,
    user: frame.user,
    serverVersion: frame.server_version,
    updated: state.updated || (state.serverVersion !== '' && state.serverVersion !== frame.server_version),
    skew: frame.server_time - context.now / 1000,
    // After hello, the server sends a notice if there is one.
    notice: null,
  }
}

function applyProcessState(state: State, next: ProcessState, context: Context): State {
  const known = state.sessions.get(next.session_id)
  if (known && (next.version < known.version || (next.version === known.version && !known.assumed))) return state
  const sessions = new Map(state.sessions)
  if (next.deleted) {
    // The version is kept, so that an older state cannot bring the session back.
    sessions.set(next.session_id, { ...next, updated_at: next.state_changed_at })
    const transcripts = new Map(state.transcripts)
    transcripts.delete(next.session_id)
    return { ...closeRequests(state, known, next, context), sessions, transcripts }
  }
  sessions.set(next.session_id, { ...next, updated_at: Math.max(next.state_changed_at, known?.updated_at ?? 0) })
  return { ...closeRequests(dropUndoneAcks(state, known, next), known, next, context), sessions }
}

/** Removes the acks of held answers that were undone or dropped. */
function dropUndoneAcks(state: State, before: SessionState | undefined, next: ProcessState): State {
  const held = new Set(before?.pending_requests.filter((r) => r.held && !r.held.dropped).map((r) => r.request_id))
  const back = next.pending_requests.filter((r) => held.has(r.request_id) && (!r.held || r.held.dropped))
  if (back.length === 0) return state
  const acks = new Map(state.acks)
  for (const r of back) acks.delete(r.request_id)
  return { ...state, acks }
}

function applyActiveProcesses(state: State, processes: ProcessState[], context: Context): State {
  let after = state
  for (const p of processes) after = applyProcessState(after, p, context)
  const present = new Set(processes.map((p) => p.session_id))
  const gone = [...after.sessions.values()].filter(
    (s) => !present.has(s.session_id) && !s.deleted && (s.state !== 'dead' || s.pending_requests.length > 0),
  )
  if (gone.length === 0) return { ...after, complete: true }
  const sessions = new Map(after.sessions)
  let next = after
  for (const s of gone) {
    const ended: SessionState = {
      ...s,
      state: 'dead',
      pending_requests: [],
      queued_messages: 0,
      memory: 0,
      cpu: 0,
      assumed: true,
    }
    delete ended.pending_request
    sessions.set(s.session_id, ended)
    next = closeRequests(next, s, ended, context)
  }
  return { ...next, sessions, complete: true }
}

function closeRequests(state: State, before: SessionState | undefined, next: ProcessState, context: Context): State {
  if (!before || before.pending_requests.length === 0) return state
  const still = new Set(next.pending_requests.map((r) => r.request_id))
  const left = before.pending_requests.filter((r) => !still.has(r.request_id))
  if (left.length === 0) return state
  const closed = new Map(state.closed)
  // Sessions of outside agents have no process: they are dead whenever no request is open.
  const exit: Exit | null = next.state === 'dead' && !next.kind ? next : null
  for (const request of left) {
    // An orphaned request has outlived its process, so the exit is not why it closed.
    closed.set(request.request_id, {
      request,
      session_id: next.session_id,
      closed_at: context.now,
      exit: request.status === 'orphaned' ? null : exit,
    })
  }
  dropOldest(closed)
  return { ...state, closed }
}

function applyTranscript(state: State, frame: Transcript): State {
  const known = state.transcripts.get(frame.session_id)
  if (known && frame.next < known.cursor) return state
  // A frame after a gap is not applied: it would move the cursor past the missing items.
  if (frame.from > (known?.cursor ?? 0)) return state
  const held = known?.live ?? null
  if (frame.live_rev && held?.rev !== frame.live_rev)
    return frame.next > (known?.cursor ?? 0) ? markGap(state, frame.session_id) : state
  const changes = frame.live_item ? frame.items.map((it) => afterBlock(it, frame.live_item!, held!.text)) : frame.items
  const items = merge(known?.items ?? [], changes)
  const transcripts = new Map(state.transcripts)
  transcripts.set(frame.session_id, {
    items,
    cursor: frame.next,
    total: frame.total,
    live: frame.live ?? (frame.live_rev && !frame.live_item ? held : null),
    more: frame.more === true,
  })
  const ended = frame.items.filter((it) => it.kind === 'resolved')
  if (ended.length === 0) return { ...state, transcripts }
  const resolutions = new Map(state.resolutions)
  for (const it of ended) {
    resolutions.set(it.request_id, {
      outcome: it.outcome as Resolved['outcome'],
      by: it.by ?? null,
      device: it.device ?? null,
      at: it.at,
      summary: it.summary,
    })
  }
  return { ...state, transcripts, resolutions }
}

/** The final item of a block contains only the text after the part already sent; put that part first. */
const afterBlock = (it: Item, key: string, text: string): Item =>
  it.key === key && (it.kind === 'text' || it.kind === 'thinking') ? { ...it, text: text + it.text } : it

function applyLiveAppend(state: State, frame: LiveAppend): State {
  const known = state.transcripts.get(frame.session_id)
  const live = known?.live
  if (live?.rev !== frame.after) return live?.rev === frame.rev ? state : markGap(state, frame.session_id)
  const grown = { ...known!, live: { ...live, text: live.text + frame.text, rev: frame.rev } }
  return { ...state, transcripts: new Map(state.transcripts).set(frame.session_id, grown) }
}

function markGap(state: State, id: string): State {
  const known = state.transcripts.get(id)
  return known ? { ...state, transcripts: new Map(state.transcripts).set(id, { ...known, hasGap: true }) } : state
}

/** Inserts or replaces items by seq, and keeps the higher revision of two. */
export function merge(items: readonly Item[], changes: readonly Item[]): readonly Item[] {
  if (changes.length === 0) return items
  const out = items.slice()
  for (const it of changes) {
    const last = out[out.length - 1]
    if (!last || it.seq > last.seq) {
      out.push(it)
      continue
    }
    const at = position(out, it.seq)
    const there = out[at]
    if (there?.seq === it.seq) {
      if (it.rev >= there.rev) out[at] = it
    } else out.splice(at, 0, it)
  }
  return out
}

function position(items: readonly Item[], seq: number): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (items[middle]!.seq < seq) low = middle + 1
    else high = middle
  }
  return low
}

function applyAck(state: State, frame: Ack, context: Context): State {
  const command = context.commandOf(frame.command_id)
  if (command?.type === 'send_message' && frame.result !== 'applied') {
    const refused = {
      command_id: frame.command_id,
      text: command.text,
      error: frame.error ?? null,
      ...(command.attachments ? { attachments: command.attachments } : {}),
    }
    return { ...state, refused: new Map(state.refused).set(command.session_id, refused) }
  }
  if (command?.type !== 'pending_request_response') return state
  const acks = new Map(state.acks)
  acks.set(command.request_id, frame)
  dropOldest(acks)
  if (!frame.resolved) return { ...state, acks }
  const resolutions = new Map(state.resolutions)
  resolutions.set(command.request_id, frame.resolved)
  return { ...state, acks, resolutions }
}

function applyListing(state: State, list: Session[]): State {
  const sessions = new Map(state.sessions)
  for (const s of list) {
    const known = sessions.get(s.session_id)
    if (known) {
      // A list has no versions, so it adds to a known session and never replaces it.
      sessions.set(s.session_id, {
        ...known,
        updated_at: Math.max(known.updated_at, s.updated_at),
        items: Math.max(known.items ?? 0, s.items ?? 0),
      })
      continue
    }
    sessions.set(s.session_id, {
      type: 'process_state',
      version: 0,
      session_id: s.session_id,
      project_id: s.project_id,
      title: s.title,
      cwd: s.cwd,
      state: 'dead',
      started_at: 0,
      state_changed_at: s.updated_at,
      model: s.model,
      permission_mode: s.permission_mode,
      memory: 0,
      cpu: 0,
      node_id: '',
      error: null,
      kill_reason: null,
      stuck: null,
      queued_messages: 0,
      pending_requests: [],
      demo: s.demo,
      archived: s.archived,
      items: s.items ?? 0,
      ...(s.kind ? { kind: s.kind } : {}),
      ...(s.rights ? { rights: s.rights } : {}),
      updated_at: s.updated_at,
      assumed: true,
    })
  }
  return { ...state, sessions }
}

function dropOldest(map: Map<string, unknown>): void {
  for (const key of map.keys()) {
    if (map.size <= MAX_CLOSED) return
    map.delete(key)
  }
}

import { Connection } from './connection'
import { FrameQueue } from './frames'
import { owner, ownKey, setOwner } from './owner'
import { Outbox } from './outbox'
import { uuid } from './uuid'
import type { Context, Listing } from '@/state/reducer'
import { urgent } from '@/state/urgent'
import type { useSessions } from '@/state/sessions'
import type { DurableCommand } from '@/wire/commands'
import { requireTrust } from './trust'
import { closeCodes, protocol, type Command, type Hello, type ServerFrame, type Showing } from '@/wire/messages.gen'
import { openLine } from './line'
import type { Port } from './port'
import { RefusedError, rest } from './rest'

/** How many sessions of the past the list shows. */
const LISTED = 50
const TYPING_EVERY_MS = 2_000
/** How soon a transcript with a gap is asked for again, if the gap stays. */
const ASK_AGAIN_MS = 1_000

type Store = ReturnType<typeof useSessions>

export interface Socket extends Port {
  start(): void
  stop(): void
}

/**
 * The one place that writes the store: it joins connection, outbox and frames,
 * and turns what components ask into commands.
 */
export function createSocket(store: Store, storage: Storage = sessionStorage): Socket {
  const followed = new Map<string, number>()
  const typed = new Map<string, number>()
  const asked = new Map<string, number>()
  const offered = new Set<string>()
  // Whether the server knows the field that says whose a command is.
  let names = false
  // Whether it can send what is appended to a block instead of the whole block.
  let appends = false
  // A frame is reduced later than it arrives, when its command has left the outbox.
  const answered = new Map<string, DurableCommand>()

  const outbox = new Outbox(storage, ownKey('outbox'), (entries) => store.setOutbox(entries))
  store.setOutbox(outbox.entries)

  const queue = new FrameQueue<ServerFrame | Listing>((frames) => {
    const context: Context = { now: Date.now(), commandOf: (id) => answered.get(id) }
    store.apply(frames, context)
    answered.clear()
    if (store.stale && frames.some(whole)) store.setStale(false)
    // One behind a gap was not taken: what is missing comes with what came after.
    for (const id of new Set(frames.flatMap(beyond))) {
      const now = Date.now()
      if (!followed.has(id) || now - (asked.get(id) ?? 0) < ASK_AGAIN_MS) continue
      asked.set(id, now)
      subscribe(id)
    }
  })

  /** The transcripts of which a frame tells more than was taken. */
  function beyond(frame: ServerFrame | Listing): string[] {
    if (frame.type === 'batch') return frame.frames.flatMap(beyond)
    if (frame.type !== 'transcript' && frame.type !== 'live_append') return []
    const known = store.transcript(frame.session_id)
    return known?.torn || (frame.type === 'transcript' && frame.next > (known?.cursor ?? 0)) ? [frame.session_id] : []
  }

  const connection = new Connection<ServerFrame>({
    open: openLine,
    protocol,
    closeCodes,
    ping: () => ({ type: 'ping', command_id: uuid() }) satisfies Command,
    onStatus(status) {
      // What came before an end belongs before what comes after it.
      queue.flush()
      store.setStatus(status)
    },
    onSlept: () => store.setStale(true),
    onHello(frame) {
      if (frame.type === 'hello') enter(frame)
      told = ''
      look()
      for (const id of followed.keys()) subscribe(id)
      outbox.sendAll(write, Date.now())
      void refresh()
    },
    onFrame: (frame) => interceptTrustErrors(frame).forEach(receiveFrame),
    signedOut: () =>
      rest.sessions(1).then(
        () => false,
        (err: unknown) => err instanceof RefusedError && err.status === 401,
      ),
  })

  /** Before anything is sent: what another person decided or wrote here stays with them. */
  function enter(hello: Hello): void {
    const id = hello.user_id ?? hello.user.name
    names = hello.user_id !== undefined
    appends = hello.live_append === true
    if (id !== owner()) {
      queue.flush()
      answered.clear()
      offered.clear()
      store.forget()
      setOwner(id)
    }
    outbox.open(ownKey('outbox'))
  }

  function receiveFrame(frame: ServerFrame): void {
    const ours = acks(frame).flatMap((id) => outbox.find(id) ?? [])
    // Before the frame is handed over, which may be at once.
    for (const entry of ours) answered.set(entry.command.command_id, entry.command)
    queue.push(frame, urgent(frame, store.state))
    if (ours.length === 0) return
    // The acks reach the store before their commands leave the outbox, or a card
    // would be open for a blink in between.
    queue.flush()
    for (const entry of ours) outbox.settle(entry.command.command_id)
  }

  /**
   * The refusal of a message that would start Claude in a folder that nobody
   * trusts waits for the person, who may have it sent again with their answer.
   */
  function interceptTrustErrors(frame: ServerFrame): ServerFrame[] {
    if (frame.type === 'batch') return [{ ...frame, frames: frame.frames.flatMap(interceptTrustErrors) }]
    const trust = frame.type === 'ack' && frame.error?.folder_trust
    if (!trust) return [frame]
    const command = outbox.find(frame.command_id)?.command
    if (command?.type !== 'send_message') return [frame]
    if (!offered.has(frame.command_id)) {
      offered.add(frame.command_id)
      void requireTrust(trust).then((consent) => {
        if (!consent) return receiveFrame(frame)
        outbox.settle(frame.command_id)
        enqueue({ ...command, ...consent, command_id: uuid() })
      })
    }
    return []
  }

  function write(command: DurableCommand): boolean {
    // The server refuses what is not of who is signed in there.
    return connection.send(names ? { ...command, user_id: owner() } : command)
  }

  function subscribe(id: string): void {
    const after = store.transcript(id)?.cursor ?? 0
    const command: Command = { type: 'subscribe', command_id: uuid(), session_id: id, after }
    connection.send(appends ? { ...command, live_append: true } : command)
  }

  function enqueue(command: DurableCommand): void {
    if (outbox.add(command, Date.now())) outbox.send(command.command_id, write, Date.now())
  }

  async function refresh(): Promise<void> {
    try {
      const list = await rest.sessions(LISTED)
      queue.push({ type: 'listing', sessions: list.sessions })
    } catch {
      // The connection says what is wrong with the server; the list comes with the next hello.
    }
  }

  async function find(id: string): Promise<boolean> {
    try {
      const found = await rest.session(id)
      queue.push({ type: 'listing', sessions: [found] })
      if (found.process_state) queue.push(found.process_state)
      return true
    } catch (err) {
      // Unreachable is not the same as not there.
      return !(err instanceof RefusedError)
    }
  }

  const wake = () => {
    if (!document.hidden) connection.wake()
  }
  // The server alerts nobody elsewhere of what they look at here.
  let told = ''
  let showing: Showing = {}
  const look = () => {
    const now = { looking: !document.hidden && document.hasFocus(), showing }
    const text = JSON.stringify(now)
    if (text !== told && connection.send({ type: 'looking', command_id: uuid(), ...now } satisfies Command)) told = text
  }
  const doubt = () => connection.doubt()
  const onVisibility = () => {
    look()
    if (document.hidden) queue.flush()
    else wake()
  }

  return {
    start() {
      document.addEventListener('visibilitychange', onVisibility)
      addEventListener('pageshow', wake)
      addEventListener('online', wake)
      addEventListener('offline', doubt)
      addEventListener('focus', look)
      addEventListener('blur', look)
      connection.start()
    },
    stop() {
      document.removeEventListener('visibilitychange', onVisibility)
      removeEventListener('pageshow', wake)
      removeEventListener('online', wake)
      removeEventListener('offline', doubt)
      removeEventListener('focus', look)
      removeEventListener('blur', look)
      connection.stop()
    },
    answer: (answer) => enqueue({ type: 'pending_request_response', command_id: uuid(), ...answer }),
    say: (sessionID, text, attachments) =>
      enqueue({
        type: 'send_message',
        command_id: uuid(),
        session_id: sessionID,
        text,
        ...(attachments?.length ? { attachments } : {}),
      }),
    cancel: (commandID) => outbox.cancel(commandID),
    follow(id) {
      followed.set(id, (followed.get(id) ?? 0) + 1)
      if (followed.get(id) === 1) subscribe(id)
      return () => {
        const left = (followed.get(id) ?? 1) - 1
        if (left > 0) {
          followed.set(id, left)
          return
        }
        followed.delete(id)
        connection.send({ type: 'unsubscribe', command_id: uuid(), session_id: id } satisfies Command)
      }
    },
    typing(sessionID, requestID) {
      const now = Date.now()
      const key = requestID ?? sessionID
      if (now - (typed.get(key) ?? 0) < TYPING_EVERY_MS) return
      typed.set(key, now)
      const command: Command = { type: 'typing', command_id: uuid(), session_id: sessionID }
      connection.send(requestID ? { ...command, request_id: requestID } : command)
    },
    draft(of, value) {
      const command: Command = { type: 'draft', command_id: uuid(), ...of, value }
      return connection.send(command) ? command.command_id : null
    },
    showing(what) {
      showing = what
      look()
    },
    find,
    refresh,
    retryNow: () => connection.retryNow(),
  }
}

/** Whether a frame tells all there is. */
function whole(frame: ServerFrame | Listing): boolean {
  return frame.type === 'batch' ? frame.frames.some(whole) : frame.type === 'active_processes'
}

/** The command_ids that a frame acknowledges. */
function acks(frame: ServerFrame): string[] {
  if (frame.type === 'batch') return frame.frames.flatMap(acks)
  return frame.type === 'ack' ? [frame.command_id] : []
}

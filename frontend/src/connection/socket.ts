import { Connection } from './connection'
import { FrameQueue } from './frames'
import { owner, ownKey, setOwner } from './owner'
import { Outbox } from './outbox'
import { uuid } from './uuid'
import type { Context, Listing } from '@/state/reducer'
import { isUrgent } from '@/state/urgent'
import type { useSessions } from '@/state/sessions'
import type { DurableCommand } from '@/wire/commands'
import { requireTrust } from './trust'
import {
  closeCodes,
  protocol,
  type Ack,
  type AckResult,
  type Command,
  type Hello,
  type ServerFrame,
  type Showing,
} from '@/wire/messages.gen'
import { openSocket } from './earlySocket'
import type { Port } from './port'
import { RefusedError, rest } from './rest'

/** How many ended sessions the list shows. */
const MAX_LISTED = 50
const TYPING_EVERY_MS = 2_000
/** How long to wait before a transcript with a gap is requested again, in ms. */
const REQUEST_AGAIN_MS = 1_000

type Store = ReturnType<typeof useSessions>

export interface Socket extends Port {
  start(): void
  stop(): void
}

/**
 * createSocket returns the only object that writes the store. It connects connection, outbox and
 * frames, and turns the calls of components into commands.
 */
export function createSocket(store: Store, storage: Storage = sessionStorage): Socket {
  const subscribers = new Map<string, number>()
  const lastTyping = new Map<string, number>()
  const lastRequested = new Map<string, number>()
  const trustAsked = new Set<string>()
  // Whether the server accepts a field for the author of a command.
  let sendsUserID = false
  // Whether the server can send the text appended to a block instead of the whole block.
  let sendsAppends = false
  // Frames are reduced after their commands have left the outbox, so acked commands are kept until
  // then.
  const ackedCommands = new Map<string, DurableCommand>()
  // What to call if the server refuses a draft, by command_id. They are not in the outbox: the next version of a
  // draft replaces it.
  const draftRefusals = new Map<string, (result: AckResult) => void>()

  const outbox = new Outbox(storage, ownKey('outbox'), (entries) => store.setOutbox(entries))
  store.setOutbox(outbox.entries)

  const queue = new FrameQueue<ServerFrame | Listing>((frames) => {
    const context: Context = { now: Date.now(), commandOf: (id) => ackedCommands.get(id) }
    store.apply(frames, context)
    ackedCommands.clear()
    if (store.stale && frames.some(hasAllSessions)) store.setStale(false)
    // A frame after a gap is not applied, so the missing items are requested together with those
    // after them.
    for (const id of new Set(frames.flatMap(sessionsWithGap))) {
      const now = Date.now()
      if (!subscribers.has(id) || now - (lastRequested.get(id) ?? 0) < REQUEST_AGAIN_MS) continue
      lastRequested.set(id, now)
      subscribe(id)
    }
  })

  /** Returns the transcripts for which a frame contains more than was applied. */
  function sessionsWithGap(frame: ServerFrame | Listing): string[] {
    if (frame.type === 'batch') return frame.frames.flatMap(sessionsWithGap)
    if (frame.type !== 'transcript' && frame.type !== 'live_append') return []
    const known = store.transcript(frame.session_id)
    return known?.hasGap || (frame.type === 'transcript' && frame.next > (known?.cursor ?? 0)) ? [frame.session_id] : []
  }

  const connection = new Connection<ServerFrame>({
    open: openSocket,
    protocol,
    closeCodes,
    ping: () => ({ type: 'ping', command_id: uuid() }) satisfies Command,
    onStatus(status) {
      // Frames from before the change of status are applied before it.
      queue.flush()
      if (status.kind !== 'open') draftRefusals.clear()
      store.setStatus(status)
    },
    onSuspended: () => store.setStale(true),
    onHello(frame) {
      if (frame.type === 'hello') switchPerson(frame)
      lastPresence = ''
      sendPresence()
      for (const id of subscribers.keys()) subscribe(id)
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

  /** Runs before anything is sent, so that the decisions and texts of another person are not sent as this one's. */
  function switchPerson(hello: Hello): void {
    const id = hello.user_id ?? hello.user.name
    sendsUserID = hello.user_id !== undefined
    sendsAppends = hello.live_append === true
    if (id !== owner()) {
      queue.flush()
      ackedCommands.clear()
      trustAsked.clear()
      store.forget()
      setOwner(id)
    }
    outbox.open(ownKey('outbox'))
  }

  function receiveFrame(frame: ServerFrame): void {
    const acks = acksIn(frame)
    for (const { command_id, result } of acks) {
      if (result !== 'applied') draftRefusals.get(command_id)?.(result)
      draftRefusals.delete(command_id)
    }
    const ours = acks.flatMap((ack) => outbox.find(ack.command_id) ?? [])
    // Before the queue gets the frame, because it may deliver it at once.
    for (const entry of ours) ackedCommands.set(entry.command.command_id, entry.command)
    queue.push(frame, isUrgent(frame, store.state))
    if (ours.length === 0) return
    // The store gets the acks before their commands leave the outbox; otherwise a card would be
    // open again for a moment.
    queue.flush()
    for (const entry of ours) outbox.settle(entry.command.command_id)
  }

  /**
   * Holds back the refusal of a message that would start Claude in an untrusted folder. If the
   * person trusts the folder, the message is sent again instead.
   */
  function interceptTrustErrors(frame: ServerFrame): ServerFrame[] {
    if (frame.type === 'batch') return [{ ...frame, frames: frame.frames.flatMap(interceptTrustErrors) }]
    const trust = frame.type === 'ack' && frame.error?.folder_trust
    if (!trust) return [frame]
    const command = outbox.find(frame.command_id)?.command
    if (command?.type !== 'send_message') return [frame]
    if (!trustAsked.has(frame.command_id)) {
      trustAsked.add(frame.command_id)
      void requireTrust(trust).then((consent) => {
        if (!consent) return receiveFrame(frame)
        outbox.settle(frame.command_id)
        enqueue({ ...command, ...consent, command_id: uuid() })
      })
    }
    return []
  }

  function write(command: DurableCommand): boolean {
    // The server refuses commands of anybody but the signed-in person.
    return connection.send(sendsUserID ? { ...command, user_id: owner() } : command)
  }

  function subscribe(id: string): void {
    const after = store.transcript(id)?.cursor ?? 0
    const command: Command = { type: 'subscribe', command_id: uuid(), session_id: id, after }
    connection.send(sendsAppends ? { ...command, live_append: true } : command)
  }

  function enqueue(command: DurableCommand): void {
    if (outbox.add(command, Date.now())) outbox.send(command.command_id, write, Date.now())
  }

  async function refresh(): Promise<void> {
    try {
      const list = await rest.sessions(MAX_LISTED)
      queue.push({ type: 'listing', sessions: list.sessions })
    } catch {
      // The connection shows what is wrong; the list is fetched again after the next hello.
    }
  }

  async function find(id: string): Promise<boolean> {
    try {
      const found = await rest.session(id)
      queue.push({ type: 'listing', sessions: [found] })
      if (found.process_state) queue.push(found.process_state)
      return true
    } catch (err) {
      // An unreachable server does not mean that the session does not exist.
      return !(err instanceof RefusedError)
    }
  }

  const wake = () => {
    if (!document.hidden) connection.wake()
  }
  // The server sends no alerts for what a person sees here.
  let lastPresence = ''
  let showing: Showing = {}
  const sendPresence = () => {
    const now = { looking: !document.hidden && document.hasFocus(), showing }
    const text = JSON.stringify(now)
    if (text !== lastPresence && connection.send({ type: 'looking', command_id: uuid(), ...now } satisfies Command))
      lastPresence = text
  }
  const networkLost = () => connection.networkLost()
  const onVisibility = () => {
    sendPresence()
    if (document.hidden) queue.flush()
    else wake()
  }

  return {
    start() {
      document.addEventListener('visibilitychange', onVisibility)
      addEventListener('pageshow', wake)
      addEventListener('online', wake)
      addEventListener('offline', networkLost)
      addEventListener('focus', sendPresence)
      addEventListener('blur', sendPresence)
      connection.start()
    },
    stop() {
      document.removeEventListener('visibilitychange', onVisibility)
      removeEventListener('pageshow', wake)
      removeEventListener('online', wake)
      removeEventListener('offline', networkLost)
      removeEventListener('focus', sendPresence)
      removeEventListener('blur', sendPresence)
      connection.stop()
    },
    answer: (answer) => enqueue({ type: 'pending_request_response', command_id: uuid(), ...answer }),
    sendMessage: (sessionID, text, attachments) =>
      enqueue({
        type: 'send_message',
        command_id: uuid(),
        session_id: sessionID,
        text,
        ...(attachments?.length ? { attachments } : {}),
      }),
    cancel: (commandID) => outbox.cancel(commandID),
    follow(id) {
      subscribers.set(id, (subscribers.get(id) ?? 0) + 1)
      if (subscribers.get(id) === 1) subscribe(id)
      return () => {
        const left = (subscribers.get(id) ?? 1) - 1
        if (left > 0) {
          subscribers.set(id, left)
          return
        }
        subscribers.delete(id)
        connection.send({ type: 'unsubscribe', command_id: uuid(), session_id: id } satisfies Command)
      }
    },
    typing(sessionID, requestID) {
      const now = Date.now()
      const key = requestID ?? sessionID
      if (now - (lastTyping.get(key) ?? 0) < TYPING_EVERY_MS) return
      lastTyping.set(key, now)
      const command: Command = { type: 'typing', command_id: uuid(), session_id: sessionID }
      connection.send(requestID ? { ...command, request_id: requestID } : command)
    },
    draft(of, value, refused) {
      const command: Command = { type: 'draft', command_id: uuid(), ...of, value }
      if (!connection.send(command)) return null
      draftRefusals.set(command.command_id, refused)
      return command.command_id
    },
    showing(what) {
      showing = what
      sendPresence()
    },
    find,
    refresh,
    retryNow: () => connection.retryNow(),
  }
}

/** Reports whether a frame contains all active sessions. */
function hasAllSessions(frame: ServerFrame | Listing): boolean {
  return frame.type === 'batch' ? frame.frames.some(hasAllSessions) : frame.type === 'active_processes'
}

/** Returns the acks in a frame. */
function acksIn(frame: ServerFrame): Ack[] {
  if (frame.type === 'batch') return frame.frames.flatMap(acksIn)
  return frame.type === 'ack' ? [frame] : []
}

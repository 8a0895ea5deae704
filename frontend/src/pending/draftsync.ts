import { watch } from 'vue'
import type { useSessions } from '@/state/sessions'
import type { AckResult, KeptDraft } from '@/wire/messages.gen'
import type { Port } from '@/connection/port'
import { draftObserver, drafts, live, merges } from './drafts'

// Drafts follow their author to all devices. A draft is sent to the server shortly after the last
// key. A draft from another device replaces the one here, unless that was changed meanwhile; then
// both are shown.

const PAUSE_MS = 800
/** The server stores no longer drafts; this browser does. */
const MAX_CHARS = 120_000

type Store = ReturnType<typeof useSessions>

const keyOf = (d: Pick<KeptDraft, 'session_id' | 'request_id'>): string =>
  d.request_id ? `request:${d.request_id}` : `message:${d.session_id}`

const text = (value: unknown): string => JSON.stringify(value ?? null)
// The last version that is known to be on the server and here: a draft that differs was changed here.
const common = (key: string): string | null => drafts.get<string>(`common:${key}`)
const agree = (key: string, value: string): void =>
  value === 'null' ? drafts.remove(`common:${key}`) : drafts.set(`common:${key}`, value)
// The last version that was sent and has not come back. A lost connection hides whether the server has it. Tabs
// share it, because any of them may see it come back first.
const unconfirmed = (key: string): string | null => drafts.get<string>(`sent:${key}`)
/** Notes that the server has stored a version. */
function noteStored(key: string, value: string): void {
  if (unconfirmed(key) === value) drafts.remove(`sent:${key}`)
  agree(key, value)
}

/** syncDrafts sends and receives drafts until the returned function is called. */
export function syncDrafts(store: Store, port: Port): () => void {
  const waiting = new Map<string, ReturnType<typeof setTimeout>>()
  // What was sent on this connection and has not come back, by key, oldest first.
  const inFlight = new Map<string, { command: string; value: string }[]>()
  const known = new Map<string, KeptDraft>()
  let applying = false

  const flying = (key: string) => inFlight.get(key) ?? []
  /** Returns the version that the server has, or gets from this connection. */
  const base = (key: string): string | null => flying(key).at(-1)?.value ?? common(key)

  function send(key: string): void {
    clearTimeout(waiting.get(key))
    waiting.delete(key)
    // Until the person has chosen one of two drafts, neither replaces the other.
    if (merges.has(key)) return
    const value = drafts.get(key)
    const now = text(value)
    if (now === (base(key) ?? 'null') || now.length > MAX_CHARS || store.state.user?.role === 'viewer') return
    const [kind, id] = [key.slice(0, key.indexOf(':')), key.slice(key.indexOf(':') + 1)]
    const command = port.draft(kind === 'request' ? { request_id: id } : { session_id: id }, value, (result) =>
      refused(key, command, result),
    )
    // Without a connection it is sent after the next hello.
    if (command === null) return
    drafts.set(`sent:${key}`, now)
    inFlight.set(key, [...flying(key), { command, value: now }])
  }

  /** Makes a refused draft count as not sent. The next change or connection sends it again. */
  function refused(key: string, command: string | null, result: AckResult): void {
    const one = flying(key).find((f) => f.command === command)
    if (!one) return
    const left = flying(key).filter((f) => f !== one)
    inFlight.set(key, left)
    if (left.length === 0) drafts.remove(`sent:${key}`)
    // The request or session is over, so the server will never take it.
    if (result !== 'rejected') agree(key, one.value)
  }

  draftObserver.changed = (key) => {
    // Attachments and the form for a new session stay in this browser.
    if (applying || !/^(request|message):/.test(key)) return
    clearTimeout(waiting.get(key))
    waiting.set(
      key,
      setTimeout(() => send(key), PAUSE_MS),
    )
  }

  function receive(d: KeptDraft): void {
    const key = keyOf(d)
    if (known.get(key) === d) return
    known.set(key, d)
    const mine = flying(key)
    const at = mine.findIndex((f) => f.command === d.command_id)
    if (at >= 0) {
      // A newer frame replaces one that waits, so those sent before may not come back.
      const left = mine.slice(at + 1)
      inFlight.set(key, left)
      return left.length > 0 ? agree(key, mine[at]!.value) : noteStored(key, mine[at]!.value)
    }
    const theirs = text(d.value)
    const here = text(drafts.get(key))
    if (theirs === here) {
      merges.delete(key)
      inFlight.delete(key)
      return noteStored(key, theirs)
    }
    // Already received, or sent by this browser, and changed here since.
    if (theirs === common(key) || theirs === unconfirmed(key)) {
      merges.delete(key)
      noteStored(key, theirs)
      return draftObserver.changed(key)
    }
    if (here !== 'null' && here !== base(key)) {
      if (theirs !== 'null') merges.set(key, d.value)
      // It was deleted there, so there is nothing to choose.
      else if (merges.delete(key)) draftObserver.changed(key)
      return
    }
    put(key, d.value)
  }

  function put(key: string, value: unknown): void {
    applying = true
    const there = live.get(key)
    if (there) there.value.value = value ?? there.blank()
    else if (value === null) drafts.remove(key)
    else drafts.set(key, value)
    applying = false
    merges.delete(key)
    inFlight.delete(key)
    drafts.remove(`sent:${key}`)
    agree(key, text(value))
  }

  const stopReceiving = watch(
    () => store.state.drafts,
    (all) => {
      for (const d of all.values()) receive(d)
    },
    { immediate: true },
  )
  const stopSending = watch(
    () => store.connected,
    (on) => {
      // What has not come back may be lost with the connection.
      if (!on) return inFlight.clear()
      // A draft that was deleted here has only its common version.
      for (const key of drafts.keys()) draftObserver.changed(key.replace(/^common:/, ''))
    },
    { immediate: true },
  )
  const sendOnHide = () => {
    if (document.hidden) for (const key of waiting.keys()) send(key)
  }
  document.addEventListener('visibilitychange', sendOnHide)
  return () => {
    stopReceiving()
    stopSending()
    document.removeEventListener('visibilitychange', sendOnHide)
    for (const timer of waiting.values()) clearTimeout(timer)
    draftObserver.changed = () => {}
  }
}

/** resolveMerge ends a conflict with the draft of the other device (theirs), or with the one here. */
export function resolveMerge(key: string, theirs: boolean): void {
  const value = merges.get(key)
  merges.delete(key)
  const there = live.get(key)
  if (theirs && there) there.value.value = value
  else draftObserver.changed(key)
}

/** draftText returns the text of a draft, for people. */
export function draftText(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.map(draftText).filter(Boolean).join(', ')
  if (typeof value === 'object' && value !== null) return Object.values(value).map(draftText).filter(Boolean).join('\n')
  return ''
}

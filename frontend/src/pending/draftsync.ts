import { watch } from 'vue'
import type { useSessions } from '@/state/sessions'
import type { KeptDraft } from '@/wire/messages.gen'
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
// The last version that server and browser agreed on: a draft that differs was changed here.
const common = (key: string): string | null => drafts.get<string>(`common:${key}`)
const agree = (key: string, value: string): void =>
  value === 'null' ? drafts.remove(`common:${key}`) : drafts.set(`common:${key}`, value)

/** syncDrafts sends and receives drafts until the returned function is called. */
export function syncDrafts(store: Store, port: Port): () => void {
  const waiting = new Map<string, ReturnType<typeof setTimeout>>()
  const sent = new Set<string>()
  const known = new Map<string, KeptDraft>()
  let applying = false

  function send(key: string): void {
    clearTimeout(waiting.get(key))
    waiting.delete(key)
    const value = drafts.get(key)
    const now = text(value)
    if (now === (common(key) ?? 'null') || now.length > MAX_CHARS || store.state.user?.role === 'viewer') return
    const [kind, id] = [key.slice(0, key.indexOf(':')), key.slice(key.indexOf(':') + 1)]
    const command = port.draft(kind === 'request' ? { request_id: id } : { session_id: id }, value)
    // Without a connection it is sent after the next hello.
    if (command === null) return
    sent.add(command)
    agree(key, now)
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
    if (d.command_id !== undefined && sent.delete(d.command_id)) return
    const theirs = text(d.value)
    const here = text(drafts.get(key))
    const before = common(key)
    if (theirs === here) {
      merges.delete(key)
      return agree(key, theirs)
    }
    // Already received, and changed here since.
    if (theirs === before) return draftObserver.changed(key)
    if (here !== 'null' && here !== before) {
      if (theirs !== 'null') merges.set(key, d.value)
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
      if (!on) return
      for (const key of drafts.keys()) if (/^(request|message):/.test(key)) draftObserver.changed(key)
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

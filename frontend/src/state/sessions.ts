import { defineStore } from 'pinia'
import { computed, shallowRef } from 'vue'
import type { Status } from './status'
import type { Entry } from '@/wire/commands'
import {
  empty,
  reduce,
  type Context,
  type ClosedRequest,
  type SessionState,
  type Listing,
  type TranscriptState,
  type State,
} from './reducer'
import type { Lifecycle, Request, Resolved, ServerFrame, ViewerInfo } from '@/wire/messages.gen'

const NO_VIEWERS: readonly ViewerInfo[] = []

/**
 * useSessions holds what this tab knows. Only connection/socket.ts writes it, with what the server
 * sent; components read it and act through the port.
 */
export const useSessions = defineStore('sessions', () => {
  const state = shallowRef<State>(empty)
  const status = shallowRef<Status>({ kind: 'stopped' })
  const outbox = shallowRef<readonly Entry[]>([])
  // The page was suspended: nothing may be decided on its old state.
  const stale = shallowRef(false)

  const all = computed<SessionState[]>(() => [...state.value.sessions.values()].filter((s) => !s.deleted))
  const waiting = computed(() => all.value.filter((s) => s.pending_requests.length > 0))
  const requests = computed<{ session: SessionState; request: Request }[]>(() =>
    waiting.value
      .flatMap((session) => session.pending_requests.map((request) => ({ session, request })))
      .toSorted((a, b) => a.request.created_at - b.request.created_at),
  )
  const connected = computed(() => status.value.kind === 'open')

  return {
    state,
    status,
    outbox,
    stale,
    all,
    waiting,
    requests,
    connected,

    session: (id: string): SessionState | undefined => {
      const found = state.value.sessions.get(id)
      return found?.deleted ? undefined : found
    },
    transcript: (id: string): TranscriptState | undefined => state.value.transcripts.get(id),
    resolution: (requestID: string): Resolved | undefined => state.value.resolutions.get(requestID),
    closedIn: (id: string): ClosedRequest[] => [...state.value.closed.values()].filter((d) => d.session_id === id),
    lifecycle: (id: string): Lifecycle | undefined => state.value.lifecycles.get(id),
    viewers: (id: string): readonly ViewerInfo[] => state.value.viewers.get(id) ?? NO_VIEWERS,

    apply(frames: readonly (ServerFrame | Listing)[], context: Context) {
      state.value = frames.reduce((s, frame) => reduce(s, frame, context), state.value)
    },
    setStatus(next: Status) {
      status.value = next
    },
    setStale(is: boolean) {
      stale.value = is
    },
    setOutbox(entries: readonly Entry[]) {
      outbox.value = entries
    },
    forget() {
      // The version of the page does not depend on the person.
      state.value = { ...empty, serverVersion: state.value.serverVersion, updated: state.value.updated }
    },
  }
})

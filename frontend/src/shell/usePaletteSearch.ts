import { onBeforeUnmount, shallowRef, watch, type Ref } from 'vue'
import { rest as files } from '@/changes/rest'
import { rest } from '@/connection/rest'
import type { SearchResult, Session } from '@/wire/messages.gen'

/**
 * Remote contains the server's results: sessions by title and folder, matches in transcripts, and files of
 * one session.
 */
export interface Remote {
  readonly sessions: readonly Session[]
  readonly transcripts: readonly SearchResult[]
  readonly files: readonly string[]
}
const NOTHING: Remote = { sessions: [], transcripts: [], files: [] }

const MIN_LENGTH = 2
const PAUSE_MS = 250

/**
 * usePaletteSearch searches the server PAUSE_MS after the last key; '' searches nothing. Files are those of
 * the given session. A part that fails is left out.
 */
export function usePaletteSearch(typed: () => string, session: string | undefined): Readonly<Ref<Remote>> {
  const found = shallowRef(NOTHING)
  let asked = new AbortController()
  let pause: ReturnType<typeof setTimeout> | undefined
  function stop() {
    clearTimeout(pause)
    asked.abort()
  }
  watch(typed, (text) => {
    stop()
    found.value = NOTHING
    if (text.length < MIN_LENGTH) return
    pause = setTimeout(async () => {
      const { signal } = (asked = new AbortController())
      const [sessions, transcripts, paths] = await Promise.all([
        rest.findSessions(text, null, signal).then(
          (page) => page.sessions,
          () => [],
        ),
        rest.search(text, null, signal).then(
          (page) => page.results,
          () => [],
        ),
        session === undefined
          ? []
          : files.search(session, text, signal).then(
              (list) => list.paths,
              () => [],
            ),
      ])
      if (!signal.aborted) found.value = { sessions, transcripts, files: paths }
    }, PAUSE_MS)
  })
  onBeforeUnmount(stop)
  return found
}

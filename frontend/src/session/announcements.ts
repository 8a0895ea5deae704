import { effectScope, watch, watchEffect } from 'vue'
import { t } from '@/i18n'
import { list } from '@/i18n/format'
import { announce } from '@/ui/announce'
import { spoken } from '@/ui/appearance'
import type { Item } from '@/wire/messages.gen'
import { textOfItem } from './itemtext'
import { missedOf } from './missed'
import { missedPhrases } from './missedPhrases'
import type { useSessions } from '@/state/sessions'
import { toolLine } from './toolline'
import { words } from './words'

// Announces to screen readers what Claude does in the open session: as much as the person chose, in
// whole blocks, with pauses for other output.

const EVERY_MS = 3_000
/**
 * How long to collect announcements before the first is made, because related changes arrive in
 * several frames.
 */
const TOGETHER_MS = 400
/** The number of blocks above which only their count is announced. */
const MAX_BLOCKS = 20

/** Announces until the returned function is called. */
export function readAloud(store: ReturnType<typeof useSessions>, current: () => string | undefined): () => void {
  let parts: (() => string[])[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  let last = -EVERY_MS

  /** Queues an announcement; those queued until then are made together. */
  function queue(part: () => string[]) {
    if (spoken.value === 'off') return
    parts.push(part)
    timer ??= setTimeout(flush, Math.max(TOGETHER_MS, last + EVERY_MS - Date.now()))
  }
  function flush() {
    timer = undefined
    last = Date.now()
    const said = spoken.value === 'off' ? [] : parts.flatMap((part) => part())
    parts = []
    if (said.length > 0) announce(said.join(' '))
  }

  const scope = effectScope(true)
  scope.run(() => {
    const states = new Map<string, string>()
    watchEffect(() => {
      for (const s of store.all) {
        const before = states.get(s.session_id)
        states.set(s.session_id, s.state)
        if (before === undefined || before === s.state || s.session_id !== current()) continue
        const name = s.title || t.session.untitled
        if (s.state === 'user_turn' && before === 'assistant_turn') queue(() => [finished(s.session_id, name)])
        if (s.state === 'dead') queue(() => [words.announcements.ended(name)])
      }
    })

    function finished(id: string, name: string): string {
      const items = store.transcript(id)?.items ?? []
      const asked = items.findLast((it) => it.kind === 'user')?.seq ?? 0
      const done = missedOf(items, asked)
      const what = done ? missedPhrases({ ...done, turns: 0, answered: 0 }) : []
      return words.announcements.finished(name, list(what))
    }

    // Items from before, which come in pages, are not announced. Blocks are identified by their
    // key, because a tool call is written again with its result.
    let currentID: string | undefined
    let known = new Set<string>()
    watch(
      () => [current(), store.transcript(current() ?? '')] as const,
      ([id, transcript]) => {
        if (id !== currentID || transcript?.more) {
          known = new Set(transcript?.items.map((it) => it.key))
          currentID = transcript && !transcript.more ? id : undefined
          return
        }
        const fresh = transcript?.items.filter((it) => !known.has(it.key) && isComplete(it)) ?? []
        for (const it of fresh) known.add(it.key)
        if (spoken.value !== 'full') return
        if (fresh.length > MAX_BLOCKS) return queue(() => [words.announcements.many(fresh.length)])
        const texts = fresh.map((it) => lineOf(it, store.session(id!)?.cwd ?? '')).filter(Boolean)
        if (texts.length > 0) queue(() => texts)
      },
      { immediate: true, flush: 'sync' },
    )
  })

  return () => {
    scope.stop()
    clearTimeout(timer)
  }
}

const isComplete = (it: Item) => it.kind !== 'tool_call' || it.status !== 'running'

/**
 * Returns the announcement of a block, '' for none: a person's own messages, thinking and subagents
 * are not announced.
 */
function lineOf(it: Item, cwd: string): string {
  if (it.agent_id !== null) return ''
  if (it.kind === 'tool_call') {
    const { name, line } = toolLine(it.tool_name, it.input, cwd)
    const said = line ? `${name}: ${line}` : name
    if (it.no_result) return words.announcements.noResult(said)
    return it.status === 'failed' ? words.announcements.failed(said) : said
  }
  return it.kind === 'text' || it.kind === 'plan' || it.kind === 'note' ? plain(textOfItem(it)) : ''
}

/** Removes the marks of Markdown, which nobody wants to hear. */
const plain = (text: string) =>
  text
    .replaceAll(/^ *(?:```.*|#+ |> |[-*+] )/gm, '')
    .replaceAll(/\*\*|__|`/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()

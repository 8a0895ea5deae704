import { computed, ref, watch, type ComputedRef } from 'vue'
import type { ClosedRequest, SessionState } from '@/state/reducer'
import { useSessions } from '@/state/sessions'
import { announce } from '@/ui/announce'
import { useNow } from '@/ui/clock'
import { answerTo } from '@/wire/commands'
import type { Request } from '@/wire/messages.gen'
import { drafts } from './drafts'
import { resumingOf } from './resuming'
import { unsentText } from './unsent'
import { words } from './words'

const NOTICE_MS = 6_000
const MAX_NOTICES = 3

/** ClosedNotice is a closed request that the person is notified of. */
export interface ClosedNotice {
  closed: ClosedRequest
  /** The person's unsent text for it. */
  unsent: string | null
  /** Set for an answer of this tab that the asker has not received. */
  answer: 'resuming' | 'kept' | null
}

const sameQuestion = (a: Request, b: Request) => a.tool_name === b.tool_name && a.input_hash === b.input_hash
const draftKey = (id: string) => `request:${id}`

/**
 * useClosedNotices returns the closed requests of a session that need a notice, because their
 * outcome is not visible in their place. It also keeps unsent text. hasOutcome reports whether the
 * place of a request shows its outcome.
 */
export function useClosedNotices(
  session: () => SessionState,
  only: () => string | undefined,
  hasOutcome: (requestID: string) => boolean,
): { notices: ComputedRef<ClosedNotice[]>; dismiss: (requestID: string) => void } {
  const store = useSessions()
  const now = useNow(1000)
  const dismissed = ref(new Set<string>())
  const open = computed(() => session().pending_requests)
  const closed = computed(() => store.closedIn(session().session_id))

  function noticeOf(one: ClosedRequest): ClosedNotice | null {
    const { request } = one
    const id = request.request_id
    if (dismissed.value.has(id) || (only() && id !== only())) return null
    const ack = store.state.acks.get(id)
    // A held answer whose request closed, or was denied, never counted. The notice is the same as
    // without an answer.
    const outcome = store.state.resolutions.get(id)?.outcome ?? ''
    const neverCounted =
      ack?.held_until !== undefined &&
      (['withdrawn', 'expired'].includes(outcome) || (outcome === 'denied' && request.held?.decision === 'allow'))
    if (ack?.result === 'applied' && !neverCounted) {
      const answer = resumingOf(one, session(), now.value, store.state.skew)
      return answer && { closed: one, unsent: null, answer }
    }
    // Not known yet: the ack will tell whether another answer was first.
    if (answerTo(store.outbox, id)) return null
    // The resumed Claude asks again, so the new card shows everything.
    if (request.status === 'orphaned' && open.value.some((r) => sameQuestion(r, request))) return null
    const unsent = unsentText(request)
    const recent = now.value - one.closed_at < NOTICE_MS && !hasOutcome(id)
    return recent || unsent !== null ? { closed: one, unsent, answer: null } : null
  }

  const notices = computed(() => {
    const all = closed.value.flatMap((one) => noticeOf(one) ?? [])
    // If many closed at once, only the last are shown, and only one if open requests must stay
    // visible. The transcript shows all.
    const shownOpen = open.value.some((r) => !only() || r.request_id === only())
    const max = shownOpen ? 1 : MAX_NOTICES
    const passing = all.filter((n) => n.unsent === null && n.answer === null).slice(-max)
    return all.filter((n) => n.unsent !== null || n.answer !== null || passing.includes(n))
  })

  const resuming = computed(() => notices.value.some((n) => n.answer === 'resuming'))
  watch(resuming, (is) => is && announce(words.resuming))

  // A draft moves to the same question of the next process before its card is created.
  watch(
    open,
    (requests) => {
      for (const { request } of closed.value) {
        if (request.status !== 'orphaned') continue
        const again = requests.find((r) => r.status === 'open' && sameQuestion(r, request))
        const draft = drafts.get(draftKey(request.request_id))
        if (!again || draft === null || drafts.get(draftKey(again.request_id)) !== null) continue
        drafts.set(draftKey(again.request_id), draft)
        drafts.remove(draftKey(request.request_id))
      }
    },
    { immediate: true },
  )

  // A draft that was sent and acknowledged is no longer needed.
  watch(
    () => [store.state.closed, store.state.acks],
    () => {
      for (const { request } of closed.value) {
        if (store.state.acks.get(request.request_id)?.result === 'applied') drafts.remove(draftKey(request.request_id))
      }
    },
    { immediate: true },
  )

  return {
    notices,
    dismiss(id) {
      dismissed.value = new Set(dismissed.value).add(id)
      drafts.remove(draftKey(id))
    },
  }
}

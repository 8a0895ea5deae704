import { onScopeDispose, watchEffect } from 'vue'
import type { SessionState } from '@/state/reducer'
import { t } from '@/i18n'
import { useGroups } from './groups'
import { titleOf } from './title'
import { useSessions } from '@/state/sessions'
import { announce, leads } from '@/ui/announce'
import { sound } from '@/ui/appearance'
import type { Request } from '@/wire/messages.gen'

/** announcementOf returns the announcement of an open request. */
export function announcementOf({ session, request }: { session: SessionState; request: Request }): string {
  const name = session.title || t.session.untitled
  const question = request.request_type === 'ask_user_question'
  return (
    (question ? t.attention.question(name) : t.attention.approval(name, titleOf(request).title)) + leads.there(question)
  )
}

// Title and icon are for people who look elsewhere, so the page is drawn first: a browser takes up
// to half a second for a new icon. A hidden page draws nothing.
const LATEST_MS = 500
const whenIdle = globalThis.requestIdleCallback ?? ((then: () => void) => setTimeout(then, LATEST_MS / 10))

/**
 * watchAttention updates the title, the favicon and the live regions with the requests that wait
 * for the person. current returns the id of the open session, page the name of a page without one.
 */
export function watchAttention(current: () => string | undefined, page: () => string | undefined): void {
  const store = useSessions()
  const groups = useGroups()
  const known = new Set<string>()
  let first = true

  let latest = { title: '', href: '' }
  let scheduled = false
  let disposed = false
  function apply() {
    scheduled = false
    if (disposed) return
    document.title = latest.title
    const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')
    if (icon && icon.getAttribute('href') !== latest.href) icon.setAttribute('href', latest.href)
  }
  onScopeDispose(() => (disposed = true))

  watchEffect(() => {
    const count = groups.units.length
    const id = current()
    const session = id === undefined ? undefined : store.session(id)
    // If the tab shows no session, the title names the one that has waited longest.
    const name = (session ?? store.requests[0]?.session)?.title ?? page()
    const title = [count > 0 ? `(${count})` : '', name ? `${name} · sayso` : 'sayso'].filter(Boolean).join(' ')
    const href = `/favicon${
      count > 0
        ? '-waiting'
        : session?.state === 'dead'
          ? '-failed'
          : store.all.some((s) => s.state === 'assistant_turn' || s.state === 'starting')
            ? '-running'
            : ''
    }.svg`
    latest = { title, href }
    if (document.hidden) apply()
    else if (!scheduled) {
      scheduled = true
      whenIdle(apply, { timeout: LATEST_MS })
    }
  })

  watchEffect(() => {
    const fresh = store.requests.filter(({ request }) => !known.has(request.request_id))
    for (const { request } of fresh) known.add(request.request_id)
    if (!store.state.complete) return
    if (first) {
      first = false
      if (store.requests.length > 0) announce(t.attention.waiting(store.requests.length))
      return
    }
    const newest = fresh.at(-1)
    if (!newest) return
    if (sound.value === 'on') void import('@/ui/sound').then((s) => s.tick())
    announce(announcementOf(newest), true)
  })
}

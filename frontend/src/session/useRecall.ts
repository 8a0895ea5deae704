import type { Ref } from 'vue'
import { useSessions } from '@/state/sessions'

/**
 * useRecall returns a key handler that brings back earlier messages to a session. Arrow up puts the
 * previous one into an empty field, or into one that shows another earlier message unchanged; arrow
 * down goes forward again. The handler returns whether it used the key.
 */
export function useRecall(
  sessionID: () => string,
  text: Ref<string>,
): (ev: KeyboardEvent, field: HTMLTextAreaElement) => boolean {
  const store = useSessions()
  /** The number of messages back, 0 for none, and the text then shown. */
  let back = 0
  let shown = ''

  return (ev, field) => {
    if (ev.shiftKey || ev.altKey || ev.ctrlKey || ev.metaKey || ev.isComposing) return false
    if (text.value !== shown) [back, shown] = [0, '']
    const up = ev.key === 'ArrowUp' && (back > 0 ? field.selectionEnd === 0 || atEnd(field) : text.value === '')
    const down = ev.key === 'ArrowDown' && back > 0 && atEnd(field)
    if (!up && !down) return false
    const said = (store.transcript(sessionID())?.items ?? []).flatMap((it) =>
      it.kind === 'user' && it.agent_id === null && it.text ? [it.text] : [],
    )
    const to = back + (up ? 1 : -1)
    if (to > said.length) return back > 0
    back = to
    shown = text.value = to === 0 ? '' : said[said.length - to]!
    ev.preventDefault()
    return true
  }
}

const atEnd = (field: HTMLTextAreaElement) => field.selectionStart === field.value.length

import { runShortcut } from './shortcuts'
import { singleKeys } from './single'
import { takeEarly, writes } from './early'
import { pressOf, Reader } from './press'
import { ids, table, type KeyID } from './table'

// A card handles its own shortcuts while it has the focus.
const HEARD = ids.filter((id) => table[id].scope !== 'card')

const IN_DIALOG: KeyID[] = ['palette']

// The shortcuts that may run when their part of the page appears after the press. They only navigate or show
// something: nothing is decided, selected or snoozed by a press that is older than its target.
export const LATER: readonly KeyID[] = [
  'palette',
  'toRequest',
  'again',
  'inbox',
  'sessions',
  'admin',
  'create',
  'next',
  'previous',
  'nextWaiting',
  'previousWaiting',
  'help',
  'toComposer',
  'search',
  'about',
  'lastOwn',
  'said',
  'bottom',
]
// After these, the next press still has the same target. After any other, it was meant for something that was
// not visible yet.
const STEPS: KeyID[] = ['next', 'previous']

/** How long a press waits for its target, in ms. Nobody expects an effect later. */
const LATEST_MS = 5_000
const AGAIN_MS = 50

interface Waiting {
  id: KeyID
  ev: KeyboardEvent
  path: string
}

/**
 * Handles shortcuts until the returned function is called, starting with the stored early presses. known
 * reports whether the server has sent the person and the sessions yet.
 */
export function listen(known: () => boolean): () => void {
  const reader = new Reader(HEARD)
  let waiting: Waiting[] = []
  let timer: ReturnType<typeof setTimeout> | undefined

  function forget() {
    clearTimeout(timer)
    waiting = []
  }

  // While a dialog is open, the page and its shortcuts are inert.
  const inert = (id: KeyID) => document.querySelector('dialog[open]') !== null && !IN_DIALOG.includes(id)

  function settle() {
    clearTimeout(timer)
    while (waiting.length > 0) {
      const { id, ev, path } = waiting[0]!
      if (path !== location.pathname || performance.now() - ev.timeStamp > LATEST_MS || inert(id)) return forget()
      if (runShortcut(id, ev) !== true) {
        timer = setTimeout(settle, AGAIN_MS)
        return
      }
      waiting = STEPS.includes(id) ? waiting.slice(1) : []
    }
  }

  function keydown(ev: KeyboardEvent) {
    // A new press replaces a waiting one.
    forget()
    // A field or a card has handled it.
    if (ev.defaultPrevented) return
    const found = reader.read(pressOf(ev), ev.timeStamp, singleKeys.value, writes(document.activeElement))
    if (found === null || found === 'begun' || inert(found)) return
    const done = runShortcut(found, ev)
    if (done !== false) ev.preventDefault()
    if (done === true || (done === false && known()) || !LATER.includes(found)) return
    waiting = [{ id: found, ev, path: location.pathname }]
    settle()
  }

  for (const { ev, path } of takeEarly()) {
    if (ev.defaultPrevented) continue
    const id = reader.read(pressOf(ev), ev.timeStamp, singleKeys.value, writes(ev.target as Element | null))
    if (id !== null && id !== 'begun' && LATER.includes(id)) waiting.push({ id, ev, path })
  }
  settle()
  addEventListener('keydown', keydown)
  addEventListener('pointerdown', forget)
  return () => {
    forget()
    removeEventListener('keydown', keydown)
    removeEventListener('pointerdown', forget)
  }
}

import { runShortcut } from './shortcuts'
import { singleKeys } from './single'
import { takeEarly, writes } from './early'
import { pressOf, Reader } from './press'
import { ids, table, type KeyID } from './table'

// What a card hears it hears itself, and where the focus is in one.
const HEARD = ids.filter((id) => table[id].scope !== 'card')

const IN_DIALOG: KeyID[] = ['palette']

// What may still be done when its part of the page came after the press. It goes
// somewhere or shows something: nothing is ever decided, chosen or put off by a
// press that is older than what it would be about.
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
// After one of these the next press is still about the same; after the others it
// was meant for what was not there to be seen.
const STEPS: KeyID[] = ['next', 'previous']

/** Longer after the press nobody expects it any more. */
const LATEST_MS = 5_000
const AGAIN_MS = 50

interface Waiting {
  id: KeyID
  ev: KeyboardEvent
  path: string
}

/**
 * Listens until the returned function is called, first to what was pressed before
 * anybody did. known says whether the server has told yet who one is and what there is.
 */
export function listen(known: () => boolean): () => void {
  const reader = new Reader(HEARD)
  let waiting: Waiting[] = []
  let timer: ReturnType<typeof setTimeout> | undefined

  function forget() {
    clearTimeout(timer)
    waiting = []
  }

  // Behind a dialog the page is inert, and its keys are too.
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
    // What a person does now is newer than what waits.
    forget()
    // What a field or a card took is not for anybody else.
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

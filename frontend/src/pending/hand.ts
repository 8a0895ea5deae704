import { ref, shallowRef } from 'vue'

// What comes to where a decision was given must not be decided by the same hand on its
// way: a second press that follows the first. So after a decision nothing can be decided
// until the pointer has left its place or the key is up.

/** How far a pointer moves from where it decided, px. */
const MOVED_PX = 8
/** A press that is older did not give the decision: a voice or a switch did, which has no hand to move. */
const RECENT_MS = 2_000

/** Whether the hand that gave a decision is still where it gave it. */
export const resting = ref(false)
/** When it moved last after a decision, ms; null before the first. */
export const movedAt = shallowRef<number | null>(null)

/** The last press, of a pointer or of a key where the pointer was. */
let last: { at: number; x: number; y: number } | null = null

/** rest notes that a decision was given just now. */
export function rest(): void {
  if (last !== null && Date.now() - last.at < RECENT_MS) resting.value = true
}

function moved(): void {
  resting.value = false
  movedAt.value = Date.now()
}

const away = (ev: PointerEvent) => last !== null && Math.hypot(ev.clientX - last.x, ev.clientY - last.y) >= MOVED_PX

/** release lets the resting hand decide again: what it decided was refused, and it presses in the same place again. */
export function release(): void {
  if (resting.value) moved()
}

addEventListener('keydown', () => (last = { at: Date.now(), x: last?.x ?? 0, y: last?.y ?? 0 }), true)
addEventListener('keyup', release, true)
addEventListener(
  'pointerdown',
  (ev) => {
    if (resting.value && away(ev)) moved()
    last = { at: Date.now(), x: ev.clientX, y: ev.clientY }
  },
  true,
)
addEventListener(
  'pointermove',
  (ev) => {
    if (resting.value && away(ev)) moved()
  },
  { capture: true, passive: true },
)

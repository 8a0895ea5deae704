import { ref, shallowRef } from 'vue'

// A card that appears where a decision was just given must not be decided by a second press of the
// same movement. So after a decision, nothing can be decided until the pointer has left its place
// or the key is up.

/** How far a pointer moves from where it decided, px. */
const MOVED_PX = 8
/** If the last press is older, the decision came from voice or switch control, where no hand moves. */
const RECENT_MS = 2_000

/** Whether the pointer or key that gave the last decision has not moved since. */
export const resting = ref(false)
/** When it last moved after a decision, in ms; null before the first time. */
export const movedAt = shallowRef<number | null>(null)

/** The last press: its time, and where the pointer was. */
let last: { at: number; x: number; y: number } | null = null

/** noteDecision notes that a decision was given just now. */
export function noteDecision(): void {
  if (last !== null && Date.now() - last.at < RECENT_MS) resting.value = true
}

function moved(): void {
  resting.value = false
  movedAt.value = Date.now()
}

const away = (ev: PointerEvent) => last !== null && Math.hypot(ev.clientX - last.x, ev.clientY - last.y) >= MOVED_PX

/** release lets the resting hand decide again in the same place, because its decision was refused. */
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

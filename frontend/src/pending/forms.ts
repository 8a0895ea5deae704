import { defineAsyncComponent, ref, shallowReactive, type Component } from 'vue'

// What the first screen can wait a moment for. It is fetched while that is drawn,
// so that a form that comes later is there at once: an async component would take
// a turn even then, and a notice must have the focus before the next key.
type Cards = typeof import('./cards')
export const forms = shallowReactive<Partial<{ [Name in keyof Cards]: Component }>>({})

/** Whether they have come, or did not at the first attempt. */
export const tried = ref(false)

const AGAIN_MS = 2_000

async function load(): Promise<void> {
  try {
    Object.assign(forms, { ...(await import('./cards')) })
  } catch {
    // A question that nobody sees is the worst that can be, so there is no last attempt.
    setTimeout(() => void load(), AGAIN_MS)
  }
  tried.value = true
}

export const loaded = load()

// Rare enough to be fetched when there is one.
export const Visit = defineAsyncComponent(() => import('./Visit.vue'))

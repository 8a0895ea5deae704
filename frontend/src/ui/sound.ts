// Only the tab that holds this lock makes the sound. Browsers let a page make sounds only after a person has
// interacted with it, so only such tabs request the lock.
let context: AudioContext | null = null
let elected = false

function stand(): void {
  removeEventListener('pointerdown', stand, true)
  removeEventListener('keydown', stand, true)
  context ??= new AudioContext()
  void navigator.locks?.request('sayso:sound', () => {
    elected = true
    return new Promise(() => {}) // held until the tab closes
  })
}
if (navigator.userActivation?.hasBeenActive) stand()
else {
  addEventListener('pointerdown', stand, true)
  addEventListener('keydown', stand, true)
}

/** Plays two soft ticks in one of all tabs; force plays them in this one, as for a test. */
export async function tick(force = false): Promise<void> {
  if (force) context ??= new AudioContext()
  if (!context || (!elected && !force && navigator.locks)) return
  await context.resume()
  for (const [delay, pitch] of [
    [0, 880],
    [0.13, 1175],
  ] as const) {
    const at = context.currentTime + delay
    const tone = context.createOscillator()
    const loud = context.createGain()
    tone.frequency.value = pitch
    loud.gain.setValueAtTime(0, at)
    loud.gain.linearRampToValueAtTime(0.12, at + 0.01)
    loud.gain.exponentialRampToValueAtTime(0.0001, at + 0.12)
    tone.connect(loud).connect(context.destination)
    tone.start(at)
    tone.stop(at + 0.13)
  }
}

import { shallowRef } from 'vue'

// The Markdown engine is a third of the app, and loads while the first session is rendered. Until then, or if
// loading fails, texts are shown as source.
export const engine = shallowRef<typeof import('./markdown') | null>(null)
import('./markdown').then(
  (m) => (engine.value = m),
  () => null,
)

import { shallowRef } from 'vue'

// A third of the weight of the app, fetched while the first session is drawn.
// Until it is there, and if it never comes, texts are shown as they are.
export const engine = shallowRef<typeof import('./markdown') | null>(null)
import('./markdown').then(
  (m) => (engine.value = m),
  () => null,
)

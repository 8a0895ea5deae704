import { ref } from 'vue'
import { sentence } from '@/connection/sentence'

/** One thing at a time that a person has the server do, and what became of it. */
export function useDeed(after: () => Promise<void> = async () => undefined) {
  const busy = ref(false)
  const problem = ref('')
  const done = ref('')

  /** Does it, says the sentence that it returns, and looks at everything anew. */
  async function act(what: () => Promise<string | void>): Promise<void> {
    if (busy.value) return
    busy.value = true
    problem.value = done.value = ''
    try {
      done.value = (await what()) ?? ''
    } catch (err) {
      problem.value = sentence(err)
    }
    await after()
    busy.value = false
  }
  return { busy, problem, done, act }
}

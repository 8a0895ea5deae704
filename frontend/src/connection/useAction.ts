import { ref } from 'vue'
import { sentence } from './sentence'

/**
 * useAction runs actions of a person one at a time and keeps what to show of the last:
 * busy while it runs, the error it failed with, or done, the sentence it returned.
 * describe turns an error into the sentence to show; '' shows none. after runs after each
 * action, failed or not, while it still counts as busy: a page loads again what it shows.
 * Its error is shown unless the action has failed too.
 */
export function useAction(
  describe: (err: unknown) => string = sentence,
  after: () => Promise<unknown> = async () => undefined,
) {
  const busy = ref(false)
  const error = ref('')
  const done = ref('')

  /** run reports whether the action succeeded; an action that is started while one runs is dropped. */
  async function run(action: () => Promise<string | void>): Promise<boolean> {
    if (busy.value) return false
    busy.value = true
    error.value = done.value = ''
    let succeeded = true
    try {
      done.value = (await action()) ?? ''
    } catch (err) {
      error.value = describe(err)
      succeeded = false
    }
    try {
      await after()
    } catch (err) {
      error.value ||= describe(err)
    }
    busy.value = false
    return succeeded
  }
  return { busy, error, done, run }
}

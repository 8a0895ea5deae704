import { ref } from 'vue'
import { errorMessage } from './errorMessage'

/**
 * useAction runs a person's actions one at a time. It returns busy while one runs, the error of the
 * last one, or done, the text that it returned. describe turns an error into the message to
 * show; '' shows none. after runs after each action, even if it failed, while busy is still true,
 * for example to reload the page. Its error is shown unless the action failed too.
 */
export function useAction(
  describe: (err: unknown) => string = errorMessage,
  after: () => Promise<unknown> = async () => undefined,
) {
  const busy = ref(false)
  const error = ref('')
  const done = ref('')

  /**
   * run reports whether the action succeeded. It ignores an action that is started while another
   * one runs.
   */
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

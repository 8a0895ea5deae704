/** The delay before loading a part of the app again, in milliseconds. */
export const AGAIN_MS = 2_000

/**
 * persist loads a part of the app, and retries until it succeeds. Otherwise a failed chunk, and its effects
 * such as shortcuts, would be missing until a reload.
 */
export async function persist<T>(load: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await load()
    } catch {
      await new Promise((again) => setTimeout(again, AGAIN_MS))
    }
}

/** How long a failed attempt to load a part of the app is ago when it is tried again, in milliseconds. */
export const AGAIN_MS = 2_000

/**
 * persist loads a part of the app until it is there. A chunk may fail with another one that it needs, and
 * what it does for the page, such as shortcuts, would be missing until a reload.
 */
export async function persist<T>(load: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await load()
    } catch {
      await new Promise((again) => setTimeout(again, AGAIN_MS))
    }
}

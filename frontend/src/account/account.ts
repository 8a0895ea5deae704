import { RefusedError } from '@/connection/rest'
import { errorMessage } from '@/connection/errorMessage'
import { words } from './words'

/** A sign-in link that was used before or has expired. */
class SpentTokenError extends Error {}

/** withToken signs in by a token; the server does not say why it refuses one. */
export async function withToken<T>(signIn: Promise<T>): Promise<T> {
  try {
    return await signIn
  } catch (err) {
    if (err instanceof RefusedError && (err.status === 401 || err.status === 422))
      throw new SpentTokenError('spent', { cause: err })
    throw err
  }
}

/** signInError returns the message for a sign-in that failed. */
export const signInError = (err: unknown): string =>
  err instanceof SpentTokenError ? words.signIn.linkExpired : errorMessage(err)

/** The secret in what a person pasted: the whole sign-in address or the bare token. */
export function tokenIn(text: string): string {
  const trimmed = text.trim()
  const hash = trimmed.lastIndexOf('#')
  return hash < 0 ? trimmed : trimmed.slice(hash + 1)
}

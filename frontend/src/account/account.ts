import { RefusedError } from '@/connection/rest'
import { errorMessage } from '@/connection/errorMessage'
import { words } from './words'

/** A sign-in link that was already used or has expired. */
class SpentTokenError extends Error {}

/** withToken signs in with a token. The server does not report why it refuses one. */
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

/** tokenIn returns the secret in a pasted text: a whole sign-in address, or only the token. */
export function tokenIn(text: string): string {
  const trimmed = text.trim()
  const hash = trimmed.lastIndexOf('#')
  return hash < 0 ? trimmed : trimmed.slice(hash + 1)
}

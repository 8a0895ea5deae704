import { t } from '@/i18n'
import { RefusedError } from './rest'

/** errorMessage returns the text that tells a person why a call failed. */
export function errorMessage(err: unknown): string {
  if (!(err instanceof RefusedError)) return t.connection.unreachable
  if (err.message !== '') return t.translateReason(err.message, err.error)
  switch (err.status) {
    case 401:
      return t.connection.signedOut
    case 403:
      return t.connection.notAllowed
    case 429:
      return t.connection.tooMany
    default:
      return t.connection.refused(err.status)
  }
}

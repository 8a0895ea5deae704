import { rest, RefusedError } from '@/wsapi/rest'
import { sentence } from '@/wsapi/sentence'
import { t } from '@/i18n'

/** Signs in with the secret of a sign-in address; a sentence when that failed, else null. */
export async function signIn(token: string): Promise<string | null> {
  try {
    await rest.login(token)
    return null
  } catch (err) {
    if (err instanceof RefusedError && (err.status === 401 || err.status === 403 || err.status === 422)) return t.account.spent
    return sentence(err)
  }
}

/** The secret in what a person pasted: the whole sign-in address or the bare token. */
export function tokenIn(text: string): string {
  const trimmed = text.trim()
  const hash = trimmed.lastIndexOf('#')
  return hash < 0 ? trimmed : trimmed.slice(hash + 1)
}

import { rest, RefusedError } from '@/connection/rest'
import { sentence } from '@/connection/sentence'
import { t } from '@/i18n'
import type { Login, Me } from '@/wire/messages.gen'

/** Signs in; who that is, or a sentence when it failed. */
export async function signIn(body: Login): Promise<Me | string> {
  try {
    return await rest.login(body)
  } catch (err) {
    if (body.token && err instanceof RefusedError && (err.status === 401 || err.status === 422)) return t.account.spent
    return sentence(err)
  }
}

/** The secret in what a person pasted: the whole sign-in address or the bare token. */
export function tokenIn(text: string): string {
  const trimmed = text.trim()
  const hash = trimmed.lastIndexOf('#')
  return hash < 0 ? trimmed : trimmed.slice(hash + 1)
}

// Where a person was going while the browser is at the identity provider.
const KEY = 'sayso:next'

export function keepNext(next: string): void {
  try {
    sessionStorage.setItem(KEY, next)
  } catch {
    // They begin at the front, then.
  }
}

export function takeNext(): string {
  try {
    const next = sessionStorage.getItem(KEY) ?? ''
    sessionStorage.removeItem(KEY)
    return next
  } catch {
    return ''
  }
}

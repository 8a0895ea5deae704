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

// Set while the browser is there to link an identity, and not to sign in.
const LINKING = 'sayso:linking'

export function keepLinking(back: string): void {
  keepNext(back)
  try {
    sessionStorage.setItem(LINKING, 'yes')
  } catch {
    // The server refuses what comes back, and says so.
  }
}

export function takeLinking(): boolean {
  try {
    const linking = sessionStorage.getItem(LINKING) !== null
    sessionStorage.removeItem(LINKING)
    return linking
  } catch {
    return false
  }
}

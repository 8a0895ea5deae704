// Stores where a person wanted to go while the browser is at the identity provider.
const KEY = 'sayso:next'

export function keepNext(next: string): void {
  try {
    sessionStorage.setItem(KEY, next)
  } catch {
    // Without storage, they start at the first page.
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

// Set while the browser is there to link an identity, not to sign in.
const LINKING = 'sayso:linking'

export function keepLinking(back: string): void {
  keepNext(back)
  try {
    sessionStorage.setItem(LINKING, 'yes')
  } catch {
    // The server refuses the response and reports why.
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

// Whose things this browser keeps: what is half written, decided and not sent yet,
// put off and read is a person's, and another who signs in here neither sees nor
// sends it. Until the server has said who is signed in, it is whoever was last.

import { ref } from 'vue'

const KEY = 'sayso:user'

const followers = new Set<() => void>()
const current = ref(remembered())

function remembered(): string {
  try {
    return sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? ''
  } catch {
    return ''
  }
}

/** Returns the id of the person; '' while nobody was ever signed in here. */
export const owner = (): string => current.value

/** Returns the key under which something of this person is kept; who reads it while rendering or in useStored follows a change. */
export const ownKey = (name: string): string =>
  current.value === '' ? `sayso:${name}` : `sayso:${name}:${current.value}`

/** Says who is signed in, as the server told. */
export function setOwner(id: string): void {
  const changed = id !== current.value
  try {
    sessionStorage.setItem(KEY, id)
    localStorage.setItem(KEY, id)
  } catch {
    // Then the next page waits for the server to say who it is.
  }
  current.value = id
  if (changed) for (const follow of followers) follow()
}

/** Calls back whenever somebody else is signed in, until the returned function is called. */
export function onOwner(follow: () => void): () => void {
  followers.add(follow)
  return () => followers.delete(follow)
}

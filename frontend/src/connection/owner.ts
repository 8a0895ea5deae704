// Drafts, unsent commands and snoozes in this browser belong to one person: another
// person who signs in here neither sees nor sends them. Until the server has reported who is signed in,
// they belong to the person who was signed in last.

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

/** Returns the id of the person, '' if nobody has signed in here yet. */
export const owner = (): string => current.value

/**
 * Returns the storage key of a name for this person. It is reactive, so a rendering or useStored
 * follows a change of the person.
 */
export const ownKey = (name: string): string =>
  current.value === '' ? `sayso:${name}` : `sayso:${name}:${current.value}`

/** Stores who is signed in, according to the server. */
export function setOwner(id: string): void {
  const changed = id !== current.value
  try {
    sessionStorage.setItem(KEY, id)
    localStorage.setItem(KEY, id)
  } catch {
    // Then the next page has to wait for the server.
  }
  current.value = id
  if (changed) for (const follow of followers) follow()
}

/** Calls follow whenever another person is signed in, until the returned function is called. */
export function onOwner(follow: () => void): () => void {
  followers.add(follow)
  return () => followers.delete(follow)
}

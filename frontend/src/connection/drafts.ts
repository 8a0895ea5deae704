import { ownKey } from './owner'

// The prefix of the keys of all people's drafts.
const ALL_DRAFTS = 'sayso:draft:'
const prefix = () => `${ownKey('draft')}:`
const MAX_AGE_MS = 30 * 24 * 3600_000

interface Stored {
  at: number
  value: unknown
}

/**
 * Drafts stores what one person is writing, by ids of the server, so that it survives the
 * component, the route and the page.
 */
export class Drafts {
  constructor(private readonly storage: Storage) {}

  get<T>(key: string): T | null {
    try {
      const text = this.storage.getItem(prefix() + key)
      return text === null ? null : ((JSON.parse(text) as Stored).value as T)
    } catch {
      return null
    }
  }

  set(key: string, value: unknown, now: number = Date.now()): void {
    try {
      this.storage.setItem(prefix() + key, JSON.stringify({ at: now, value } satisfies Stored))
    } catch {
      // Storage is full or blocked: the draft lasts as long as the page.
    }
  }

  remove(key: string): void {
    this.storage.removeItem(prefix() + key)
  }

  /** Returns the key of the draft that is stored under a name; null if the name is not that of a draft of this person. */
  keyOf(name: string | null): string | null {
    return name?.startsWith(prefix()) ? name.slice(prefix().length) : null
  }

  /** The keys of all drafts of this person. */
  keys(): string[] {
    const keys: string[] = []
    for (let i = 0; i < this.storage.length; i++) {
      const key = this.keyOf(this.storage.key(i))
      if (key !== null) keys.push(key)
    }
    return keys
  }

  /** Deletes drafts that were not changed for a month, so that those of old requests do not accumulate. */
  prune(now: number = Date.now()): void {
    const old: string[] = []
    for (let i = 0; i < this.storage.length; i++) {
      const key = this.storage.key(i)
      if (!key?.startsWith(ALL_DRAFTS)) continue
      let at = 0
      try {
        at = (JSON.parse(this.storage.getItem(key) ?? '{}') as Partial<Stored>).at ?? 0
      } catch {
        // Unreadable, so it counts as old and is deleted.
      }
      if (now - at > MAX_AGE_MS) old.push(key)
    }
    for (const key of old) this.storage.removeItem(key)
  }
}

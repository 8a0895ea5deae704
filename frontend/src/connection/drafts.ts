import { ownKey } from './owner'

// Of everybody.
const ALL = 'sayso:draft:'
const prefix = () => `${ownKey('draft')}:`
const KEPT_MS = 30 * 24 * 3600_000

interface Stored {
  at: number
  value: unknown
}

/**
 * Drafts keep what one person has half written, by the server's own ids, so that
 * it outlives the component, the route and the page.
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
      // Full or forbidden storage: the draft lives as long as the page.
    }
  }

  remove(key: string): void {
    this.storage.removeItem(prefix() + key)
  }

  /** The keys of what is kept. */
  keys(): string[] {
    const keys: string[] = []
    for (let i = 0; i < this.storage.length; i++) {
      const key = this.storage.key(i)
      if (key?.startsWith(prefix())) keys.push(key.slice(prefix().length))
    }
    return keys
  }

  /** Forgets what nobody touched for a month; requests come and go for ever. */
  prune(now: number = Date.now()): void {
    const old: string[] = []
    for (let i = 0; i < this.storage.length; i++) {
      const key = this.storage.key(i)
      if (!key?.startsWith(ALL)) continue
      let at = 0
      try {
        at = (JSON.parse(this.storage.getItem(key) ?? '{}') as Partial<Stored>).at ?? 0
      } catch {
        // Unreadable, so nobody can want it.
      }
      if (now - at > KEPT_MS) old.push(key)
    }
    for (const key of old) this.storage.removeItem(key)
  }
}

import type { InjectionKey } from 'vue'

/** Place is where a card stands among those that wait for a decision. */
export interface Place {
  /** Counted from 1. */
  at: number
  of: number
  /** Leads to the one before (-1) or after it (1). */
  go: (by: -1 | 1) => void
}

/** placeIn returns the place of a card in a list of ids; null when it is alone or not in it. */
export function placeIn(ids: readonly string[], id: string, open: (id: string) => unknown): Place | null {
  const at = ids.indexOf(id)
  if (at < 0 || ids.length < 2) return null
  return {
    at: at + 1,
    of: ids.length,
    go(by) {
      const to = ids[at + by]
      if (to !== undefined) open(to)
    },
  }
}

/** Returns the place of a card by its request_id. */
export const placeKey: InjectionKey<(id: string) => Place | null> = Symbol('place')

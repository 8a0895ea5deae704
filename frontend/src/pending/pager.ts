import type { InjectionKey } from 'vue'

/** Place is the position of a card among the undecided ones. */
export interface Place {
  /** Counted from 1. */
  at: number
  of: number
  /** Goes to the previous (-1) or next (1) one. */
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

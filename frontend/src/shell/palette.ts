import type { Ref } from 'vue'
import { useStored } from '@/browser/useStored'
import { ownKey } from '@/connection/owner'
import { atLeast } from '@/account/roles'
import { PAGES } from '@/admin/pages'
import type { Choice } from '@/session/actions'
import type { IconName } from '@/ui/Icon.vue'
import type { Role } from '@/wire/messages.gen'
import { words } from './words'

/** An entry of the palette. */
export interface Entry {
  id: string
  group: 'action' | 'session' | 'setting' | 'transcript' | 'file'
  text: string
  icon?: IconName
  /** The session that it concerns, whose actions are shown beside it. */
  session?: string
  danger?: boolean
  /** Values to choose from, which replace the list. */
  choices?: readonly Choice[]
  /** Additional text to search, shown beside the entry. */
  also?: string
  /** The part of the text in which at least one typed word must occur; absent means any part. */
  by?: string
  caps?: string[][]
  run(): void
}

/** Returns the admin pages that a role may see. */
export const pagesFor = (role: Role | undefined, go: (path: string) => void): Entry[] =>
  PAGES.filter((p) => role !== undefined && atLeast(role, p.role)).map((p) => ({
    id: 'page:' + p.name,
    group: 'setting',
    text: p.title,
    also: p.name === 'grants' ? words.rules : words.admin,
    run: () => go(`/admin/${p.name}`),
  }))

/**
 * Returns how well an entry matches the typed text: lower is better, null is no match. Every word must occur;
 * the beginning of a word counts most.
 */
export function rank(text: string, typed: string): number | null {
  const here = text.toLowerCase()
  let sum = 0
  for (const word of typed.toLowerCase().split(/\s+/).filter(Boolean)) {
    const at = here.indexOf(word)
    if (at < 0) return null
    sum +=
      at === 0 ? 0 : new RegExp(`[^\\p{L}\\p{N}]${word.replace(/[^\p{L}\p{N}]/gu, '\\$&')}`, 'u').test(here) ? 1 : 2
  }
  return sum
}

/** Returns the matching entries, best first; equal ones by last use, then in the given order. */
export function found(entries: readonly Entry[], typed: string, recent: readonly string[]): Entry[] {
  const age = (e: Entry) => {
    const at = recent.indexOf(e.id)
    return at < 0 ? recent.length : at
  }
  return entries
    .flatMap((entry, i) => {
      const score = rank(`${entry.text} ${entry.also ?? ''}`, typed)
      return score === null ? [] : [{ entry, score, i }]
    })
    .toSorted((a, b) => a.score - b.score || age(a.entry) - age(b.entry) || a.i - b.i)
    .map((m) => m.entry)
}

const MAX_RECENT = 12

/**
 * useRecent returns the ids of the entries that this person used last, newest first, and a function that adds
 * one.
 */
export function useRecent(): { recent: Readonly<Ref<readonly string[]>>; remember: (id: string) => void } {
  const recent = useStored<readonly string[]>(
    () => ownKey('palette'),
    [],
    (text) => {
      const list: unknown = JSON.parse(text)
      return Array.isArray(list) ? list.filter((id) => typeof id === 'string') : undefined
    },
  )
  return {
    recent,
    remember: (id) => (recent.value = [id, ...recent.value.filter((other) => other !== id)].slice(0, MAX_RECENT)),
  }
}

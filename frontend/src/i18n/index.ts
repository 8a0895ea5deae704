import { shallowReactive, shallowRef } from 'vue'
import { useStored } from '@/browser/useStored'
import { writeAs } from './format'
import type { Reason } from '@/wire/messages.gen'
import { en, type Messages } from './messages.en'

export { count } from './format'
export { own } from './messages.en'

/** The available languages, each by its own name. */
export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const
export type Language = keyof typeof LANGUAGES

const namespaces: { name: string; words: object; english: object }[] = []
let other: Record<string, object> = {}

/** The current language. */
export const language = shallowRef<Language>('en')

/**
 * inLanguage returns the messages of a namespace in the current language; a rendering that reads them follows
 * a change. English is bundled with the namespace. Another language is loaded for all namespaces at once,
 * before the app is mounted.
 */
export function inLanguage<W extends object>(namespace: string, english: W): W {
  const words: W = shallowReactive({ ...english, ...other[namespace] })
  namespaces.push({ name: namespace, words, english })
  return words
}

/** The messages of the first screen. */
export const t: Messages = inLanguage('i18n', en)

/** translate returns the text of a server object's field in the current language, '' if it is empty. */
export function translate<F extends string>(
  of: { readonly [K in F]?: string | null } & { readonly reasons?: Readonly<Record<string, Reason>> },
  field: F,
): string {
  const text = of[field]
  return text ? t.translateReason(text, of.reasons?.[field]) : ''
}

const known = (l: string): Language | undefined => (Object.hasOwn(LANGUAGES, l) ? (l as Language) : undefined)

const stored = useStored<Language | null>('sayso:language', null, known)

/** The person's choice in this browser; null for the browser's language. */
export const chosen = (): Language | null => stored.value

/** Stores the person's choice; null for the browser's language. */
export async function choose(to: Language | null): Promise<void> {
  stored.value = to
  await speak(to)
}

/** Loads the messages of a language and switches to it. */
export async function speak(choice: Language | null = chosen()): Promise<void> {
  const to = choice ?? navigator.languages.map((l) => known(l.split('-')[0]!)).find((l) => l !== undefined) ?? 'en'
  other = to === 'en' ? {} : (await import('./de')).catalogue
  writeAs(to)
  document.documentElement.lang = language.value = to
  for (const { name, words, english } of namespaces) Object.assign(words, english, other[name])
}

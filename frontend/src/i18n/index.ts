import { shallowReactive, shallowRef } from 'vue'
import { useStored } from '@/browser/useStored'
import { writeAs } from './format'
import type { Reason } from '@/wire/messages.gen'
import { en, type Messages } from './messages.en'

export { count } from './format'
export { own } from './messages.en'

/** The languages there are, each in its own words. */
export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const
export type Language = keyof typeof LANGUAGES

const namespaces: { name: string; words: object; english: object }[] = []
let other: Record<string, object> = {}

/** The language that is shown. */
export const language = shallowRef<Language>('en')

/**
 * inLanguage returns the messages of a namespace in the chosen language; what reads
 * them while it renders follows a change. English is bundled with the namespace,
 * another language comes for all namespaces at once, before the app is mounted.
 */
export function inLanguage<W extends object>(namespace: string, english: W): W {
  const words: W = shallowReactive({ ...english, ...other[namespace] })
  namespaces.push({ name: namespace, words, english })
  return words
}

/** The words of the app. */
export const t: Messages = inLanguage('i18n', en)

/** The text in a field of an object of the server, in the language that is shown; '' for nothing. */
export function translate<F extends string>(
  of: { readonly [K in F]?: string | null } & { readonly reasons?: Readonly<Record<string, Reason>> },
  field: F,
): string {
  const text = of[field]
  return text ? t.said(text, of.reasons?.[field]) : ''
}

const known = (l: string): Language | undefined => (Object.hasOwn(LANGUAGES, l) ? (l as Language) : undefined)

const stored = useStored<Language | null>('sayso:language', null, known)

/** What a person chose here; null: as the browser has it. */
export const chosen = (): Language | null => stored.value

/** Keeps what a person chose; null: as the browser has it. */
export async function choose(to: Language | null): Promise<void> {
  stored.value = to
  await speak(to)
}

/** Loads the words of the language that is to be spoken, and speaks it. */
export async function speak(choice: Language | null = chosen()): Promise<void> {
  const to = choice ?? navigator.languages.map((l) => known(l.split('-')[0]!)).find((l) => l !== undefined) ?? 'en'
  other = to === 'en' ? {} : (await import('./de')).catalogue
  writeAs(to)
  document.documentElement.lang = language.value = to
  for (const { name, words, english } of namespaces) Object.assign(words, english, other[name])
}

import { shallowReactive, shallowRef } from 'vue'
import { writeAs } from './format'
import { en, type Messages } from './messages.en'

export { count } from './format'

/** The languages there are, each in its own words. */
export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const
export type Language = keyof typeof LANGUAGES

const KEY = 'sayso:language'
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

/** What a person chose here; null: as the browser has it. */
export function chosen(): Language | null {
  try {
    return known(localStorage.getItem(KEY))
  } catch {
    return null
  }
}

const known = (l: string | null): Language | null =>
  l !== null && Object.hasOwn(LANGUAGES, l) ? (l as Language) : null

/** Keeps what a person chose; null: as the browser has it. */
export async function choose(to: Language | null): Promise<void> {
  try {
    if (to === null) localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, to)
  } catch {
    // Forbidden storage: the choice lasts as long as the page.
  }
  await speak(to)
}

/** Loads the words of the language that is to be spoken, and speaks it. */
export async function speak(choice: Language | null = chosen()): Promise<void> {
  const to = choice ?? navigator.languages.map((l) => known(l.split('-')[0]!)).find(Boolean) ?? 'en'
  other = to === 'en' ? {} : (await import('./de')).catalogue
  writeAs(to)
  document.documentElement.lang = language.value = to
  for (const { name, words, english } of namespaces) Object.assign(words, english, other[name])
}

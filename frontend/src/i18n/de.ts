import { de } from './messages.de'

// All German in one chunk, so that no screen mixes languages or waits for its texts.
const namespaces = import.meta.glob<object>('../*/words.de.ts', { eager: true, import: 'words' })

/** The German messages of every namespace, by its folder. */
export const catalogue: Record<string, object> = {
  i18n: de,
  ...Object.fromEntries(Object.entries(namespaces).map(([path, words]) => [path.split('/').at(-2)!, words])),
}

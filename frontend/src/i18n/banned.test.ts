import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

// Phrases that earlier texts had in place of the usual term.
const BANNED = {
  en: /put off|taken? back|takes? effect|wait(s|ing)? for you\b(?! today)|no longer put|sign-in address|line ends?\b|for ever\b|shut out|let in\b|may at most|good for|as the browser|as it was|is told|by now|of its own|\bstands\b|\blies\b|keys of one|goes out when|said before|what waits|waits elsewhere|look closely|ask nothing/i,
  de: /freigeb|freigab|freigib|erlaubnis|zustimm|zugestimmt|zurückgenommen|zurücknehm|anmeldeadresse|anmeldedienst|\b(Zug|Zugs|Züge)(?=[ .,]|$)|aus(ge)?sperr|für immer|versiegel|schon gesagt|darf höchstens|gilt gleich|wartet anderswo|lebenszeichen|von selbst|einzelheiten|vorlage|telefon|gespräch|grenzen?\b|benutzt|benutzen|geht (raus|hinaus)|stehen geblieben|etwas zu warten|^zeigen?\b|verzweig|[a-zäöüß]…/i,
}
type Language = keyof typeof BANNED

/** The texts of a catalogue: what is between quotes, without its code. */
const texts = (source: string): string[] =>
  [
    ...source.replace(/^\s*(\/\/|\/?\*).*$/gm, '').matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`([^`]*)`/g),
  ].map(([, single, double, template]) => single ?? double ?? template ?? '')

const banned = (language: Language, source: string) => texts(source).filter((text) => BANNED[language].test(text))

const src = join(process.cwd(), 'src')
const sources = readdirSync(src, { recursive: true }) as string[]
const catalogues: Record<Language, string[]> = {
  en: sources.filter((f) => /(words|messages)\.en\.ts$|^wire\/errors\.gen\.ts$/.test(f)),
  de: sources.filter((f) => /(words|messages|errors|statements)\.de\.ts$/.test(f)),
}

it.each(['en', 'de'] as const)('the catalogs in %s use the usual terms', (language) => {
  expect(catalogues[language].length).toBeGreaterThan(9)
  const found = catalogues[language].flatMap((f) =>
    banned(language, readFileSync(join(src, f), 'utf8')).map((text) => `${f}: ${text}`),
  )
  expect(found).toEqual([])
})

it('finds a banned phrase', () => {
  const english = "  // it was put off\n  snooze: 'Put off 10 min',\n  of: (n) => `${n} requests wait for you`,"
  expect(banned('en', english)).toEqual(['Put off 10 min', '${n} requests wait for you'])
  const german =
    "  // Freigabe\n  approve: 'Freigeben',\n  link: \"Anmeldeadresse\",\n  ok: 'Genehmigen',\n  more: 'Mehr…', all: 'Zeige alle', hint: 'Das zeigt sayso hier.',"
  expect(banned('de', german)).toEqual(['Freigeben', 'Anmeldeadresse', 'Mehr…', 'Zeige alle'])
})

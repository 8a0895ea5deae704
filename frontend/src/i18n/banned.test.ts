import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

// Phrases that earlier texts had in place of the usual term.
const BANNED =
  /put off|taken? back|takes? effect|wait(s|ing)? for you\b(?! today)|no longer put|sign-in address|line ends?\b|for ever\b|shut out|let in\b|may at most|good for|as the browser|as it was|is told|by now|of its own|\bstands\b|\blies\b|keys of one|goes out when|said before|what waits|waits elsewhere|look closely|ask nothing/i

/** The texts of a catalogue: what is between quotes, without its code. */
const texts = (source: string): string[] =>
  [...source.replace(/^\s*(\/\/|\/?\*).*$/gm, '').matchAll(/'((?:[^'\\\n]|\\.)*)'|`([^`]*)`/g)].map(
    ([, plain, template]) => plain ?? template ?? '',
  )

const src = join(process.cwd(), 'src')
const catalogues = (readdirSync(src, { recursive: true }) as string[]).filter((f) =>
  /(words|messages)\.en\.ts$/.test(f),
)

it('catalogues use the usual terms', () => {
  expect(catalogues.length).toBeGreaterThan(8)
  const found = catalogues.flatMap((f) =>
    texts(readFileSync(join(src, f), 'utf8'))
      .filter((text) => BANNED.test(text))
      .map((text) => `${f}: ${text}`),
  )
  expect(found).toEqual([])
})

it('finds a phrase that was planted', () => {
  const planted = texts("  // it was put off\n  snooze: 'Put off 10 min',\n  of: (n) => `${n} requests wait for you`,")
  expect(planted.filter((text) => BANNED.test(text))).toEqual(['Put off 10 min', '${n} requests wait for you'])
})

import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.(vue|css|ts)$/.test(path) && !path.endsWith('.test.ts'))
  .map((path) => ({ path, text: readFileSync(`src/${path}`, 'utf8') }))

test('colors are defined in tokens.css only', () => {
  const elsewhere = files
    .filter(({ path }) => path !== 'ui/tokens.css' && !path.endsWith('.ts'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\b(?:oklch|rgba?|hsla?|light-dark)\(\s*[\d#]|:\s*#[\da-f]{3,8}\b/gi)].map(
        (m) => `${path}: ${m[0]}`,
      ),
    )
  expect(elsewhere).toEqual([])
})

test('every custom property in use is defined', () => {
  const set = new Set(
    files.flatMap(({ text }) => [...text.matchAll(/['"]?(--[a-z][\w-]*)['"]?\]?\s*[:,]/g)].map((m) => m[1])),
  )
  const unset = files.flatMap(({ path, text }) =>
    [...text.matchAll(/var\((--[\w-]+)\s*\)/g)].filter((m) => !set.has(m[1])).map((m) => `${path}: ${m[1]}`),
  )
  expect(unset).toEqual([])
})

test('at most ten places style the inside of another component', () => {
  const places = files.flatMap(({ path, text }) => (text.match(/:deep\(.*/g) ?? []).map((m) => `${path}: ${m}`))
  // An eleventh is wrong: the other component needs a custom property, as Button has.
  expect(places.length > 10 ? places : []).toEqual([])
})

import { codeToTokensBase, createShikiPrimitiveAsync } from 'shiki/core'
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript'
import javascript from 'shiki/langs/javascript.mjs'
import jsx from 'shiki/langs/jsx.mjs'
import { expect, test } from 'vitest'
import ours from './javascript'

// Some of each: names of scopes must not be all that differs.
const CODE = `/** @param {number} n What counts. */
import { a as b } from './c.js' // why
export const f = async (x = 1, ...rest) => \`\${x < 2 ? \`a\` : rest?.[0]}\`
class A extends B { static #n = /[a-z]+/giu; get n() { return this.#n } }
const view = <Row key={f(1)} {...rest}>text &amp; {b}</Row>
for (const [k, v] of Object.entries({ k: null })) if (!(k in v)) throw new Error('no')
`

// A theme that tells all scopes apart that the app colours.
const theme = {
  name: 'scopes',
  settings: [{ settings: { foreground: '#000001' } }].concat(
    [
      'comment',
      'string',
      'keyword',
      'storage',
      'constant',
      'variable',
      'entity',
      'support',
      'punctuation',
      'meta.tag',
    ].map((scope, i) => ({ scope, settings: { foreground: `#0000${String(i + 10)}` } })),
  ),
}

test.each([
  ['javascript', javascript],
  ['jsx', jsx],
])('the rules of %s are those of TSX', async (lang, theirs) => {
  const colours = async (langs: typeof javascript) => {
    const shiki = await createShikiPrimitiveAsync({
      themes: [theme],
      langs,
      engine: createJavaScriptRegexEngine({ forgiving: true }),
    })
    const lines = codeToTokensBase(shiki, CODE, { lang, theme: 'scopes', tokenizeTimeLimit: 10_000 })
    return lines.map((line) => line.map((t) => `${t.content} ${t.color}`))
  }
  const found = await colours(ours)
  expect(found).toEqual(await colours(theirs))
  expect(new Set(found.flat().map((t) => t.slice(-7))).size).toBeGreaterThan(6)
})

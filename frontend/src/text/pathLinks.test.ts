import { expect, test } from 'vitest'
import { linkPaths, pathPieces, pathsIn } from './pathLinks'

const CWD = '/home/mara/shop'
/** The links of a text as "path:line <- what is shown". */
const links = (text: string, code = false) =>
  pathsIn(text, CWD, code).map((l) => `${l.path}:${l.line} <- ${text.slice(l.from, l.to)}`)

test.each([
  ['I changed src/cart.ts and ./lib/a.go.', ['src/cart.ts:0 <- src/cart.ts', 'lib/a.go:0 <- ./lib/a.go']],
  [
    'see src/cart.ts:12, or src/cart.ts:12:5',
    ['src/cart.ts:12 <- src/cart.ts:12', 'src/cart.ts:12 <- src/cart.ts:12:5'],
  ],
  ['src/cart.ts:3-9 and src/cart.ts#L7', ['src/cart.ts:3 <- src/cart.ts:3-9', 'src/cart.ts:7 <- src/cart.ts#L7']],
  ['src/cart.ts(12,3): error TS2304', ['src/cart.ts:12 <- src/cart.ts(12,3)']],
  ['src/cart.ts:12:const a = 1', ['src/cart.ts:12 <- src/cart.ts:12']],
  ['main.go:7:2: undefined: x', ['main.go:7 <- main.go:7:2']],
  ['/home/mara/shop/src/cart.ts', ['src/cart.ts:0 <- /home/mara/shop/src/cart.ts']],
  ['/home/mara/shop/scripts/deploy', ['scripts/deploy:0 <- /home/mara/shop/scripts/deploy']],
  [
    '(src/cart.ts) "src/b.ts" [src/c.ts]',
    ['src/cart.ts:0 <- src/cart.ts', 'src/b.ts:0 <- src/b.ts', 'src/c.ts:0 <- src/c.ts'],
  ],
  ['app/[slug]/page.tsx', ['app/[slug]/page.tsx:0 <- app/[slug]/page.tsx']],
  ['--config=etc/app.toml', ['etc/app.toml:0 <- etc/app.toml']],
  ['@src/cart.ts please', ['src/cart.ts:0 <- src/cart.ts']],
  ['diff --git a/src/x.ts b/src/x.ts', ['src/x.ts:0 <- src/x.ts', 'src/x.ts:0 <- src/x.ts']],
  ['\n+++ b/src/x.ts\n', ['src/x.ts:0 <- src/x.ts']],
  ['docs/über/größe.md', ['docs/über/größe.md:0 <- docs/über/größe.md']],
  ['cmd/Makefile', ['cmd/Makefile:0 <- cmd/Makefile']],
])('%s', (text, want) => {
  expect(links(text)).toEqual(want)
})

test.each([
  'https://example.com/src/cart.ts?x=src/b.ts',
  'github.com/foo/bar.go',
  'and/or, TCP/IP, 1/2, application/json, HTTP/1.1, e.g./i.e.',
  'path/filepath.Join(a)',
  'lib/render.html(',
  'Node.js and cart.ts',
  '/etc/passwd',
  '/home/mara/shopping/a.ts',
  '../shop2/a.ts',
  'src/../../b.ts',
  '.git/config.lock',
  '~/src/a.ts',
  'src/components/',
  'src/ca\u202ert.ts',
  'src/a\u034f.ts',
  'javascript:alert(1)',
])('no file of the folder: %s', (text) => {
  expect(links(text)).toEqual([])
})

test('a name alone counts in code', () => {
  expect(links('go.mod', true)).toEqual(['go.mod:0 <- go.mod'])
  expect(links('Makefile', true)).toEqual([])
  expect(links('app.Start', true)).toEqual([])
  expect(links('go.mod')).toEqual([])
})

test('the pieces are the whole text', () => {
  for (const text of ['', 'a', 'src/a.ts', ' src/a.ts:3 b lib/c.go\n', 'x/y.ts'.repeat(50)])
    expect(
      pathPieces(text, CWD)
        .map((p) => p.text)
        .join(''),
    ).toBe(text)
})

test('the text of an element stays, and what is a link or a block of code already has no other', () => {
  const el = document.createElement('div')
  el.innerHTML =
    '<p>In <code>src/a.ts:3</code> and lib/b.go, <a href="https://x.example/">src/c.ts</a></p><pre>src/d.ts</pre>'
  const before = el.textContent
  linkPaths(el, { cwd: CWD, address: (path, line) => `/s?${new URLSearchParams({ file: path, line: String(line) })}` })
  expect(el.textContent).toBe(before)
  expect([...el.querySelectorAll('a.path-link')].map((a) => [a.getAttribute('href'), a.textContent])).toEqual([
    ['/s?file=src%2Fa.ts&line=3', 'src/a.ts:3'],
    ['/s?file=lib%2Fb.go&line=0', 'lib/b.go'],
  ])
})

test('a long text is read in time in proportion to its length', () => {
  const hostile = [
    'a.'.repeat(100_000),
    'a/'.repeat(100_000),
    'x://'.repeat(50_000),
    '[a]'.repeat(60_000),
    'a:1'.repeat(60_000),
    '-'.repeat(199_000) + '/',
    'a/x.ts'.padEnd(40_000, ' a/x.y'),
  ]
  const plain = 'src/cart.ts changed. '.repeat(9_500)
  const took = (text: string) => {
    const began = performance.now()
    pathsIn(text, CWD)
    return performance.now() - began
  }
  took(plain)
  expect(pathsIn(plain, CWD)).toHaveLength(400)
  // Quadratic ones take minutes.
  for (const text of hostile) expect(took(text)).toBeLessThan(2_000)
})

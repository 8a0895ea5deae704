// Fails when the web app outgrows its budget. What counts as initial is what a
// browser needs before it can show a session: the chunks of the entry and of the
// session view (vite.config.ts) and everything they import statically.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'

const KB = 1024
const BUDGET = { initialJS: 90 * KB, initialCSS: 18 * KB, fonts: 120 * KB, lazyChunk: 90 * KB, whole: 900 * KB }
const FIRST_SCREEN = ['app', 'session']

const dist = new URL('../dist/', import.meta.url).pathname
const manifest = JSON.parse(readFileSync(join(dist, '.vite/manifest.json'), 'utf8'))
const gzipped = (file) => gzipSync(readFileSync(join(dist, file)), { level: 9 }).length

const initial = new Set()
const visit = (key) => {
  if (initial.has(key)) return
  const chunk = manifest[key]
  if (!chunk) throw new Error(`size: no chunk ${key} in the manifest`)
  initial.add(key)
  for (const next of chunk.imports ?? []) visit(next)
}
for (const name of FIRST_SCREEN) {
  const keys = Object.keys(manifest).filter((key) => manifest[key].name === name && manifest[key].file.endsWith('.js'))
  if (keys.length !== 1) throw new Error(`size: ${keys.length} chunks are called ${name}`)
  visit(keys[0])
}

const js = new Set([...initial].map((key) => manifest[key].file))
// Styles that index.html names stand in the way of the first paint, whoever uses them.
const css = new Set(
  [...readFileSync(join(dist, 'index.html'), 'utf8').matchAll(/rel="stylesheet"[^>]*href="\/([^"]+)"/g)].map(
    (m) => m[1],
  ),
)
if (css.size === 0) throw new Error('size: index.html names no style')
const lazy = Object.entries(manifest)
  .filter(([key, chunk]) => !initial.has(key) && chunk.file.endsWith('.js'))
  .map(([, chunk]) => ({ file: chunk.file, size: gzipped(chunk.file) }))
  .sort((a, b) => b.size - a.size)

const walk = (folder) =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    return statSync(path).isDirectory() ? walk(path) : [path]
  })
const whole = walk(dist)
  .filter((path) => !/\.(br|gz)$/.test(path) && !path.includes('/.vite/'))
  .reduce((sum, path) => sum + brotliCompressSync(readFileSync(path)).length, 0)

// Compressed as they are.
const fonts = walk(dist)
  .filter((path) => path.endsWith('.woff2'))
  .reduce((sum, path) => sum + statSync(path).size, 0)
if (fonts === 0) throw new Error('size: the build has no fonts')

const sum = (set) => [...set].reduce((total, file) => total + gzipped(file), 0)
const figures = [
  ['initial JavaScript, gzip', sum(js), BUDGET.initialJS],
  ['initial CSS, gzip', sum(css), BUDGET.initialCSS],
  ['fonts', fonts, BUDGET.fonts],
  ['largest lazy chunk, gzip', lazy[0]?.size ?? 0, BUDGET.lazyChunk],
  ['whole app, brotli', whole, BUDGET.whole],
]
let over = false
for (const [name, size, budget] of figures) {
  const bad = size > budget
  over ||= bad
  console.log(
    `${bad ? 'OVER' : 'ok  '}  ${name.padEnd(26)} ${(size / KB).toFixed(1).padStart(7)} kB of ${budget / KB} kB`,
  )
}
process.exit(over ? 1 : 0)

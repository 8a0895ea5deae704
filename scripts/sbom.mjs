// Prints what the programs in a folder are made of, as CycloneDX: the Go modules
// that each says it was linked from, and the packages and typefaces of the web app.
//
//   node scripts/sbom.mjs DIR
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const dir = process.argv[2]
const components = new Map()
const add = (purl, component) => components.set(purl, { type: 'library', 'bom-ref': purl, purl, ...component })

let toolchain = ''
const programs = readdirSync(dir).filter((name) => name.startsWith('sayso') && !/\.(json|sig)$/.test(name))
if (programs.length === 0) throw new Error(`there is no sayso in ${dir}`)
for (const name of programs) {
  const said = execFileSync('go', ['version', '-m', join(dir, name)], { encoding: 'utf8' })
  toolchain = /: (go\S+)/.exec(said)[1]
  let last
  for (const line of said.split('\n')) {
    const [, kind, path, version] = line.split('\t')
    if (kind !== 'dep' && kind !== '=>') continue
    if (kind === '=>') components.delete(last) // replaced by what follows
    last = `pkg:golang/${path}@${version}`
    add(last, { name: path, version })
  }
}
add(`pkg:golang/std@${toolchain.slice(2)}`, { name: 'std', version: toolchain.slice(2) })

const lock = JSON.parse(readFileSync(new URL('../frontend/package-lock.json', import.meta.url), 'utf8'))
for (const [path, p] of Object.entries(lock.packages)) {
  if (path === '' || p.dev || p.devOptional || p.optional) continue
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const [algorithm, sum] = (p.integrity ?? '').split('-')
  add(`pkg:npm/${name.replace('@', '%40')}@${p.version}`, {
    name, version: p.version,
    ...(algorithm === 'sha512' ? { hashes: [{ alg: 'SHA-512', content: Buffer.from(sum, 'base64').toString('hex') }] } : {}),
  })
}

// The typefaces that the web app carries; their licence is in frontend/public/fonts-license.txt.
for (const [id, name] of [['inter', 'Inter'], ['jetbrains-mono', 'JetBrains Mono']])
  add(`pkg:generic/${id}`, { name, licenses: [{ license: { id: 'OFL-1.1' } }] })

// Neither a time nor a random number: the same programs give the same list.
console.log(JSON.stringify({
  bomFormat: 'CycloneDX', specVersion: '1.5', version: 1,
  metadata: { component: { type: 'application', name: 'sayso', 'bom-ref': 'sayso' } },
  components: [...components.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1)),
}, null, 2))

// Starts sayso from the tree with hot reload of both sides (`make dev`). Browsers talk to the Go server
// alone, which passes the web app on to Vite, so cookies and the checks of host and origin are those of
// a built server. When Go or SQL changes, the server is built again and replaced; sessions continue,
// because each CLI runs under a shim. When the build fails, the old server continues.
//
//   node scripts/dev.mjs [flags of sayso serve]
//
// Its state is in .state/dev, unless SAYSO_STATE_DIR or --state-dir name another folder.
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, renameSync, watch } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
process.chdir(root)
const say = (text) => console.error(`dev: ${text}`)

const { createServer } = await import(
  pathToFileURL(createRequire(join(root, 'frontend/package.json')).resolve('vite')).href
)
const vite = await createServer({
  root: 'frontend',
  configFile: 'frontend/vite.config.ts',
  logLevel: 'warn',
  clearScreen: false,
})
await vite.listen()
const address = `http://127.0.0.1:${vite.httpServer.address().port}`

execFileSync('scripts/build-shim', { stdio: 'inherit' })
const claude = execFileSync('scripts/claude-for-run', { encoding: 'utf8' }).trim()
const env = {
  ...process.env,
  SAYSO_DEV_VITE: address,
  SAYSO_STATE_DIR: process.env.SAYSO_STATE_DIR ?? join(root, '.state/dev'),
}
if (claude) env.SAYSO_CLAUDE = claude
const folder = '.tools/dev'
mkdirSync(folder, { recursive: true })

/** Runs a command and returns its exit code. */
const run = (command, args) =>
  new Promise((resolve) =>
    spawn(command, args, { stdio: 'inherit' })
      .on('error', () => resolve(1))
      .on('exit', resolve),
  )

let server = null
let leaving = false
function start() {
  const mine = spawn(join(folder, 'sayso'), ['serve', ...process.argv.slice(2)], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env,
  })
  mine.ended = new Promise((resolve) => mine.on('exit', resolve))
  void mine.ended.then((code) => {
    if (mine !== server || leaving) return
    server = null
    say(`the server ended with ${code}; it starts again after the next change`)
  })
  server = mine
}

async function stop() {
  const old = server
  server = null
  if (!old) return
  old.kill('SIGTERM')
  await old.ended
}

async function build() {
  const started = Date.now()
  if ((await run('go', ['build', '-tags', 'embedshim,dev', '-o', join(folder, 'next'), './cmd/sayso'])) !== 0) {
    say(server ? 'the build failed, and the old server continues' : 'the build failed')
    return
  }
  await stop()
  if (leaving) return
  renameSync(join(folder, 'next'), join(folder, 'sayso'))
  say(`built in ${((Date.now() - started) / 1000).toFixed(1)} s`)
  start()
}

// One build at a time; changes during a build cause one more.
let building = false
let due = false
async function rebuild() {
  due = true
  if (building) return
  building = true
  while (due && !leaving) {
    due = false
    await build()
  }
  building = false
}

let timer
const changed = (_, name) => {
  if (!name || !/\.(go|sql)$/.test(name) || name.endsWith('_test.go')) return
  clearTimeout(timer)
  timer = setTimeout(rebuild, 200) // an editor writes several times
}
const tracked = execFileSync('git', ['ls-files', '*.go', '*.sql'], { encoding: 'utf8' }).trim().split('\n')
for (const dir of new Set(tracked.map(dirname))) watch(dir, changed)

async function leave() {
  if (leaving) return
  leaving = true
  await stop()
  await vite.close()
  process.exit(0)
}
process.on('SIGINT', leave)
process.on('SIGTERM', leave)
await rebuild()

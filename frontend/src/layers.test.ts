// @vitest-environment node
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

// The architecture of the web app: a file imports only from its own folder and from
// folders further down this list, which begins at the bottom.
const LAYERS = [
  ['browser', 'what a browser keeps for the app'],
  ['wire', 'the types of what the server says, generated from Go'],
  ['i18n', 'languages and formats; the catalogues of the shell'],
  ['ui', 'controls and tokens that know nothing of sessions or requests'],
  ['text', 'markdown, code and differences, shown so that nothing in them is hidden'],
  ['state', 'what this tab knows: the reducer and the store'],
  ['connection', 'the socket, which alone writes the store, REST, the outbox; it shows nothing'],
  ['keys', 'the table of keys and how presses reach actions'],
  ['machine', 'the machines on which sessions run'],
  ['environment', 'what sessions can run on'],
  ['project', 'rights and limits in projects'],
  ['pending', 'requests: their cards, and the rules by which they are decided'],
  ['workspace', 'whether the settings of a folder are trusted'],
  ['tools', 'what Claude can use in a session'],
  ['usage', 'what fills its context, and what it costs'],
  ['worktree', 'the branch of a folder, and worktrees of its repository'],
  ['changes', 'what changed in the folder of a session, and its files'],
  ['session', 'one session: header, transcript, composer'],
  ['account', 'sign-in and a person’s own account'],
  ['inbox', 'everything that waits'],
  ['sidebar', 'the list of sessions'],
  ['settings', 'preferences of a person'],
  ['phone', 'how a phone gets the requests'],
  ['admin', 'pages for admins'],
  ['shell', 'the frame around all screens: navigation, keyboard, bars, dialogs'],
  ['.', 'main, App and the router'],
] as const

const SRC = import.meta.dirname
const rank = (file: string) => LAYERS.findIndex(([folder]) => folder === folderOf(file))
const folderOf = (file: string) => (file.includes('/') ? file.split('/')[0]! : '.')
// Tests and what exists for them may import what they test with.
const isTest = (file: string) => /\.test\.ts$|(^|\/)test[a-z]+\.ts$/.test(file)

function list(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    if (statSync(path).isDirectory()) return list(path)
    return /\.(ts|vue)$/.test(name) ? [relative(SRC, path)] : []
  })
}

/** importsOf returns the files that one imports, types and what is fetched later among them. */
function importsOf(file: string): string[] {
  const code = readFileSync(join(SRC, file), 'utf8')
  const found = code.matchAll(/\b(?:from|import)\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/g)
  return [...found].flatMap(([, still, later]) => {
    const path = (still ?? later)!.split('?')[0]!
    if (!/^(\.{1,2}|@)\//.test(path)) return []
    const base = path.startsWith('@/') ? join(SRC, path.slice(2)) : resolve(SRC, dirname(file), path)
    const hit = [base, `${base}.ts`, join(base, 'index.ts')].find((p) => existsSync(p) && statSync(p).isFile())
    return hit && /\.(ts|vue)$/.test(hit) ? [relative(SRC, hit)] : []
  })
}

const files = list(SRC).filter((f) => !isTest(f))
const graph = new Map(files.map((f) => [f, importsOf(f)]))

test('every folder has a layer', () => {
  expect(files.filter((f) => rank(f) < 0)).toEqual([])
})

test('imports only go down', () => {
  const wrong = files.flatMap((from) =>
    graph
      .get(from)!
      .filter((to) => rank(to) > rank(from))
      .map((to) => `${from} imports ${to}: ${folderOf(to)} is above ${folderOf(from)}`),
  )
  expect(wrong).toEqual([])
})

test('the product imports nothing from its tests', () => {
  expect(files.filter((from) => graph.get(from)!.some(isTest))).toEqual([])
})

test('no file imports itself through others', () => {
  const done = new Set<string>()
  const circles: string[] = []
  const walk = (file: string, path: readonly string[]) => {
    if (path.includes(file)) return void circles.push([...path.slice(path.indexOf(file)), file].join(' → '))
    if (done.has(file)) return
    for (const next of graph.get(file) ?? []) walk(next, [...path, file])
    done.add(file)
  }
  for (const file of files) walk(file, [])
  expect(circles).toEqual([])
})

test('there is one Vue app', () => {
  expect(files.filter((f) => /\bcreateApp\(/.test(readFileSync(join(SRC, f), 'utf8')))).toEqual(['main.ts'])
})

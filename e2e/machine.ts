// What the browser tests find on this machine. Whatever is missing is an error
// that says how to get it; nothing is skipped.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Whether everything runs, as in `make test-all`, or what `make test` has time for. */
export const everything = Boolean(process.env.SAYSO_TEST_ALL)

export function program(name: string): string {
  const path = `${root}bin/${name}`
  if (!existsSync(path)) throw new Error(`${path} is not there; run make build`)
  return path
}

export function claude(version: string, variable: string): string {
  const path =
    process.env[variable] || `${root}.tools/claude-${version}/node_modules/@anthropic-ai/claude-code/bin/claude.exe`
  if (!existsSync(path)) throw new Error(`Claude Code ${version} is not at ${path}; run make setup`)
  return path
}

/** A browser; with 'desktop' one that can do all that people's browsers can, notifications among it. */
export function chromium(kind: 'headless' | 'desktop' = 'headless'): string {
  return execFileSync(`${root}scripts/chromium`, kind === 'desktop' ? ['--desktop'] : [], { encoding: 'utf8' }).trim()
}

/** The other browsers of `make test-all`: Firefox, and the WebDriver of WebKitGTK. */
export const firefox = () => execFileSync(`${root}scripts/firefox`, { encoding: 'utf8' }).trim()
export const webkit = () => execFileSync(`${root}scripts/webkit`, { encoding: 'utf8' }).trim()

// Sandboxed Chromium does not start as root, nor in most containers; QUIC and
// the background services would talk to the network.
export const chromiumArguments = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

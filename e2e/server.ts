// Starts what the tests look at: a real server, the real CLI behind it, and a
// scripted model behind that. All of it on loopback and in a folder of its own.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

import { checkAgreement } from './agreement.ts'
import { program } from './machine.ts'
import { inFiles, inProcesses, inText } from './secrets.ts'
import type { Script } from './script.ts'
import { token } from './token.ts'

/** How the name of a folder begins in which a server with `scripted` runs the scripted CLI. */
export const scriptedFolder = 'scripted-'

export interface Server {
  url: string
  folder: string // with symlinks resolved; holds all of the below
  workspace: string // where sessions may work
  signInAddress(): string // the one-time address that the start printed
  signInSecret(): string // of another one, made while the server runs
  agentToken(name: string): string // of an agent outside, which can only ask
  // A runner with this token, which stands for another host.
  machine(name: string, token: string, ...flags: string[]): Machine
  fillDisk(full: boolean): void // no file of the server, and of what it starts from now on, can grow
  log(): string // everything the server has said so far
  saved(id: string): string // what the CLI has written down of a session
  crash(): Promise<void> // kill -9, and start again on the same address with the same state
  restart(): Promise<void> // the same in order
  stop(): Promise<void>
}

/** A runner with a folder of its own. It runs from start() to lose(). */
export interface Machine {
  workspace: string
  start(): void
  lose(): Promise<void> // kill -9; its sessions continue
}

export interface Model {
  url: string
  stop(): Promise<void>
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill(signal)
  await exited
}

// script is for conversations that bring none.
export async function startModel(script?: Script): Promise<Model> {
  const folder = mkdtempSync(join(tmpdir(), 'sayso-e2e-'))
  const more: string[] = []
  if (script) {
    more.push('-script', join(folder, 'script.json'))
    writeFileSync(more[1], JSON.stringify(script))
  }
  const child = spawn(program('scriptedmodel'), ['-listen', '127.0.0.1:0', ...more], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface({ input: child.stdout })) {
    const url = line.match(/^ANTHROPIC_BASE_URL=(.*)$/)?.[1]
    if (url) {
      child.stdout.resume()
      return {
        url,
        async stop() {
          await end(child, 'SIGTERM')
          rmSync(folder, { recursive: true })
        },
      }
    }
  }
  throw new Error('the scripted model ended before it said its address')
}

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

export interface Settings {
  claudePath: string
  scripted?: boolean // whether sessions in folders with the name of scriptedFolder have the scripted CLI
  modelURL: string
  apiKey?: string // of the model; '' for an account that is not signed in
  arguments?: string[] | ((url: string) => string[])
  bootstrap?: boolean // an admin's token from the start; else the server is to be set up
  mcpServers?: Record<string, { command: string; args: string[] }> // of the person whose CLI it is
  workspace?: string // made, and removed at the end; in the server's folder unless given
  agrees?: boolean // whether all must know the same of the open requests at the end, see agreement.ts
}

// The environment is built, not inherited: the account and the settings of
// whoever runs the tests must not matter.
export async function startServer({
  claudePath,
  scripted = false,
  modelURL,
  apiKey = 'sk-ant-not-a-key',
  arguments: more = [],
  mcpServers,
  workspace: given,
  bootstrap = true,
  agrees = bootstrap,
}: Settings): Promise<Server> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sayso-e2e-')))
  const home = join(folder, 'home')
  const workspace = given ?? join(folder, 'workspace')
  mkdirSync(home)
  mkdirSync(workspace)
  if (mcpServers) writeFileSync(join(home, '.claude.json'), JSON.stringify({ mcpServers }))
  if (scripted) {
    const either = `#!/bin/sh
case $PWD in */${scriptedFolder}*) exec '${program('claudetest')}' "$@" ;; esac
exec '${claudePath}' "$@"
`
    writeFileSync(join(folder, 'claude'), either, { mode: 0o755 })
  }
  const listen = `127.0.0.1:${await freePort()}`
  const url = `http://${listen}`
  const environment: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    LANG: 'C.UTF-8',
    TMPDIR: folder,
    HOME: home,
    SAYSO_CLAUDE: scripted ? join(folder, 'claude') : claudePath,
    ...(bootstrap ? { SAYSO_BOOTSTRAP_TOKEN: token } : {}),
    ANTHROPIC_BASE_URL: modelURL,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  }
  if (apiKey) environment.ANTHROPIC_API_KEY = apiKey

  const state = join(folder, 'state')
  // What must be found nowhere. The key of the model is handed to the CLI, which is what it is for.
  const secrets = new Map(bootstrap ? [[token, 'the bootstrap token']] : [])
  async function leaks(): Promise<string[]> {
    const metrics = bootstrap
      ? await fetch(`${url}/metrics`, { headers: { Authorization: `Bearer ${token}` } }).then(
          (r) => r.text(),
          () => '',
        )
      : ''
    const all = new Map(apiKey ? [...secrets, [apiKey, 'the key of the model']] : secrets)
    return [
      ...inText(said, all, 'the log'),
      ...inText(metrics, all, 'the metrics'),
      ...inFiles(state, all),
      ...inProcesses(home, child.pid ?? 0, secrets),
    ]
  }

  const machines: { machine: Machine; state: string }[] = []
  let child: ChildProcess
  let said = ''
  async function start() {
    const from = said.length
    child = spawn(
      program('sayso'),
      [
        'serve',
        '--listen',
        listen,
        '--state-dir',
        state,
        '--workspace-root',
        workspace,
        ...(typeof more === 'function' ? more(url) : more),
      ],
      { env: environment, stdio: ['ignore', 'pipe', 'pipe'] },
    )
    const hear = (chunk: Buffer) => (said += chunk)
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
    for (;;) {
      if (child.exitCode !== null) throw new Error(`sayso ended before it listened:\n${said.slice(from)}`)
      const ready = await fetch(`${url}/readyz`).then(
        (r) => r.ok,
        () => false,
      )
      if (ready) return
      await new Promise((r) => setTimeout(r, 50))
    }
  }
  await start()
  return {
    url,
    folder,
    workspace,
    signInAddress() {
      // At localhost, where people are sent, the cookies would not be those of url.
      const found = said
        .match(/https?:\/\/\S+/g)
        ?.map((a) => a.replace('//localhost:', '//127.0.0.1:'))
        .find((a) => a.startsWith(url) && a.length > url.length + 10)
      if (!found) throw new Error(`the server printed no sign-in link:\n${said}`)
      return found
    },
    signInSecret() {
      const address = execFileSync(program('sayso'), ['token', '--sign-in', '--state-dir', state], {
        env: environment,
        encoding: 'utf8',
      })
      const secret = address.trim().split('#')[1]
      secrets.set(secret, 'a one-time sign-in')
      return secret
    },
    agentToken(name) {
      const secret = execFileSync(program('sayso'), ['token', '--agent', name, '--state-dir', state], {
        env: environment,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim()
      secrets.set(secret, 'the token of an agent')
      return secret
    },
    machine(name, secret, ...flags) {
      secrets.set(secret, `the token of ${name}`)
      const home = join(folder, name)
      const workspace = join(home, `${scriptedFolder}workspace`)
      mkdirSync(workspace, { recursive: true })
      const file = join(home, 'token')
      writeFileSync(file, secret, { mode: 0o600 })
      let runner: ChildProcess | undefined
      const state = join(home, 'state')
      const machine: Machine = {
        workspace,
        start() {
          runner = spawn(
            program('sayso'),
            [
              ...[
                'runner',
                '--connect',
                url,
                '--token-file',
                file,
                '--state-dir',
                state,
                '--workspace-root',
                workspace,
              ],
              ...flags,
            ],
            { env: { ...environment, SAYSO_BOOTSTRAP_TOKEN: undefined }, stdio: 'ignore' },
          )
        },
        async lose() {
          if (runner) await end(runner, 'SIGKILL')
        },
      }
      machines.push({ machine, state })
      return machine
    },
    fillDisk(full) {
      execFileSync('prlimit', ['--pid', String(child.pid), `--fsize=${full ? '1' : 'unlimited'}:unlimited`])
    },
    log: () => said,
    saved(id) {
      const all = join(home, '.claude', 'projects')
      const file =
        existsSync(all) &&
        readdirSync(all, { recursive: true, encoding: 'utf8' }).find((name) => name.endsWith(`${id}.jsonl`))
      return file ? readFileSync(join(all, file), 'utf8') : ''
    },
    async crash() {
      await end(child, 'SIGKILL')
      await start()
    },
    async restart() {
      await end(child, 'SIGTERM')
      await start()
    },
    async stop() {
      const leaked = await leaks()
      const apart =
        agrees && child.exitCode === null && child.signalCode === null
          ? await checkAgreement({ url, since: 0 }).then(
              () => null,
              (e: unknown) => e,
            )
          : null
      await end(child, 'SIGTERM')
      leaked.push(...inFiles(state, secrets))
      for (const { machine, state } of machines) {
        await machine.lose()
        execFileSync(program('sayso'), ['kill-all', '--state-dir', state], { env: environment })
      }
      execFileSync(program('sayso'), ['kill-all', '--state-dir', state], { env: environment })
      for (const made of [folder, workspace])
        rmSync(made, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
      if (apart) throw apart
      if (leaked.length > 0) throw new Error(`Secrets where none may be:\n${[...new Set(leaked)].join('\n')}`)
    },
  }
}

// The processes of this machine whose command line holds a text, such as the id
// of a session.
export function processesWith(text: string): string[] {
  return execFileSync('ps', ['-axwwo', 'pid=,args='], { encoding: 'utf8', maxBuffer: 64 << 20 })
    .split('\n')
    .filter((line) => line.includes(text) && !line.includes('ps -axwwo'))
}

// The demo as a newcomer starts it: `sayso demo` in a folder of its own, without an account.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

import { program } from './machine.ts'

export interface Demo {
  link: string // which it has printed, and which signs in
  stop(): Promise<void>
}

export async function startDemo(claudePath: string): Promise<Demo> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sayso-e2e-')))
  const env = { PATH: process.env.PATH, LANG: 'C.UTF-8', TMPDIR: folder, HOME: folder, SAYSO_CLAUDE: claudePath }
  const state = ['--state-dir', join(folder, 'state')]
  const demo = spawn(program('sayso'), ['demo', '--listen', '127.0.0.1:0', ...state], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const stop = async () => {
    demo.kill()
    if (demo.exitCode === null) await once(demo, 'exit')
    await once(spawn(program('sayso'), ['kill-all', ...state], { env }), 'exit')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
  for await (const line of createInterface({ input: demo.stdout })) {
    const link = line.match(/https?:\/\/\S+#\S+/)?.[0]
    if (!link) continue
    demo.stdout.resume()
    return { link, stop }
  }
  await stop()
  throw new Error('the demo ended before it printed its link')
}

// Looks for secrets where none may be: in what a server said and keeps, in its
// metrics, and in the command lines and environments of what it started.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const holding = (data: Buffer | string, secrets: Map<string, string>, where: string): string[] =>
  [...secrets].filter(([secret]) => data.includes(secret)).map(([, name]) => `${name} is in ${where}`)

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

// A file or a process may go while we look.
function read(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch {
    return Buffer.alloc(0)
  }
}

/** Secrets by their name in what is kept in a folder, byte by byte. */
export const inFiles = (folder: string, secrets: Map<string, string>) =>
  filesIn(folder).flatMap((path) => holding(read(path), secrets, path))

/** Secrets by their name in a text. */
export const inText = (text: string, secrets: Map<string, string>, where: string) => holding(text, secrets, where)

/**
 * Secrets by their name in the command line of any process of this machine, and
 * in the environment of those whose home is this folder, but the server's own.
 */
export function inProcesses(home: string, server: number, secrets: Map<string, string>): string[] {
  const lines = execFileSync('ps', ['-axwwo', 'args='], { encoding: 'utf8', maxBuffer: 64 << 20 })
  const found = holding(lines, secrets, 'a command line')
  // Only Linux shows what others were started with.
  for (const pid of existsSync('/proc/self/environ') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : []) {
    const environment = read(`/proc/${pid}/environ`)
    if (Number(pid) !== server && environment.includes(`HOME=${home}\0`))
      found.push(...holding(environment, secrets, `the environment of ${read(`/proc/${pid}/comm`).toString().trim()}`))
  }
  return found
}

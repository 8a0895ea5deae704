// What the drivers in JavaScript share: actions come in and events go out, a line of JSON each.
import { createInterface } from 'node:readline'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

export const claude = process.env.APPROVALTEST_CLAUDE

export function emit(event) {
  process.stdout.write(JSON.stringify(event) + '\n')
}

/** Imports a package that is installed in a folder, and returns it with its version. */
export async function installed(folder, name) {
  const require = createRequire(join(folder, 'package.json'))
  const root = join(folder, 'node_modules', name)
  const { version, exports, main, module } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const entry = exports?.['.'] ?? exports ?? module ?? main
  const file = typeof entry === 'string' ? entry : (entry.import?.default ?? entry.import ?? entry.default)
  return { version, exports: await import(pathToFileURL(typeof file === 'string' ? join(root, file) : require.resolve(name)).href), root: dirname(join(root, 'package.json')) }
}

/** Calls act for each action, in order, without waiting for its effects. */
export async function actions(act) {
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      await act(JSON.parse(line))
    } catch (error) {
      emit({ event: 'failed', text: String(error?.stack ?? error) })
    }
  }
  process.exit(0)
}

/** The requests that wait for the person, by key. */
export class Waiting {
  #resolve = new Map()
  #last = 0

  /** Shows a request and returns the answer of the person, or undefined when it was withdrawn. */
  ask(tool, input, signal) {
    const key = String(++this.#last)
    return new Promise((resolve) => {
      this.#resolve.set(key, resolve)
      emit({ event: 'asked', key, tool, input })
      const withdraw = () => {
        if (!this.#resolve.delete(key)) return
        emit({ event: 'withdrawn', key })
        resolve(undefined)
      }
      if (signal?.aborted) withdraw()
      else signal?.addEventListener('abort', withdraw, { once: true })
    })
  }

  answer(action) {
    const resolve = this.#resolve.get(action.key)
    this.#resolve.delete(action.key)
    resolve?.(action)
  }
}

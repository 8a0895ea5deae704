import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'

const TEXT = /\.(js|css|html|svg|json|webmanifest|txt)$/

// Below this size the header costs more than the saving.
const SMALLEST = 512

function files(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    return statSync(path).isDirectory() ? files(path) : [path]
  })
}

/**
 * Writes a .br and a .gz beside every text file, so that the server compresses
 * nothing at run time, and puts back dist/.keep, which lets Go embed the folder
 * before the first build.
 */
export function compress(): Plugin {
  let out = 'dist'
  return {
    name: 'sayso-compress',
    apply: 'build',
    configResolved(config) {
      out = config.build.outDir
    },
    closeBundle() {
      for (const path of files(out)) {
        if (!TEXT.test(path)) continue
        const body = readFileSync(path)
        if (body.length < SMALLEST) continue
        writeFileSync(path + '.gz', gzipSync(body, { level: 9 }))
        writeFileSync(
          path + '.br',
          brotliCompressSync(body, {
            params: {
              [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
              [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
            },
          }),
        )
      }
      writeFileSync(join(out, '.keep'), '')
    },
  }
}

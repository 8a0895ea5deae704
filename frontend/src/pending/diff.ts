import { structuredPatch } from 'diff'

export interface DiffLine {
  kind: 'same' | 'add' | 'del' | 'gap'
  text: string
  /** Of a gap: how many lines are left out. */
  skipped?: number
}

export interface Diff {
  lines: DiffLine[]
  added: number
  removed: number
}

// Above this the search for the smallest difference stops and all is shown as replaced.
const SEARCH_MS = 300

/** The difference of two texts with three lines around each change. */
export function diffOf(before: string, after: string): Diff {
  const patch = structuredPatch('', '', before, after, '', '', { context: 3, timeout: SEARCH_MS })
  if (!patch) return replaced(before, after)
  const out: Diff = { lines: [], added: 0, removed: 0 }
  let end = 1
  patch.hunks.forEach((hunk, i) => {
    if (i > 0) out.lines.push({ kind: 'gap', text: '', skipped: hunk.oldStart - end })
    end = hunk.oldStart + hunk.oldLines
    for (const line of hunk.lines) {
      const text = line.slice(1)
      // "\ No newline at end of file": of a piece of a file that says nothing.
      if (line.startsWith('\\')) continue
      if (line.startsWith('+')) {
        out.added++
        out.lines.push({ kind: 'add', text })
      } else if (line.startsWith('-')) {
        out.removed++
        out.lines.push({ kind: 'del', text })
      } else out.lines.push({ kind: 'same', text })
    }
  })
  return out
}

function replaced(before: string, after: string): Diff {
  const split = (text: string) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))
  const gone = split(before)
  const came = split(after)
  return {
    lines: [
      ...gone.map((text) => ({ kind: 'del' as const, text })),
      ...came.map((text) => ({ kind: 'add' as const, text })),
    ],
    added: came.length,
    removed: gone.length,
  }
}

import { structuredPatch } from 'diff'
import { MOST_LINES } from './few'

export interface DiffLine {
  kind: 'same' | 'add' | 'del' | 'gap'
  text: string
  /** Of a gap: how many lines are left out. */
  skipped?: number
  /** How many lines text is, when they are more than one. */
  many?: number
}

export interface Diff {
  lines: DiffLine[]
  /** How many lines of both are left out before the first. */
  skipped: number
  added: number
  removed: number
}

// Above this the search for the smallest difference stops and all is shown as replaced.
const SEARCH_MS = 150
const MOST_CHARS = 1_000_000
const MOST_EDITED = 2_000 // lines; the work grows with their square

// Lines of a kind that follow one another are one, when there are more than can be
// elements. Where that is not enough all is shown as replaced.
function fewer(diff: Diff, before: string, after: string): Diff {
  if (diff.lines.length <= MOST_LINES) return diff
  const lines: DiffLine[] = []
  let texts: string[] = []
  const close = () => {
    const last = lines.at(-1)
    if (last && texts.length > 1) Object.assign(last, { text: texts.join('\n'), many: texts.length })
  }
  for (const line of diff.lines) {
    if (lines.at(-1)?.kind === line.kind && line.kind !== 'gap') texts.push(line.text)
    else {
      close()
      lines.push({ ...line })
      texts = [line.text]
    }
  }
  close()
  return lines.length <= MOST_LINES ? { ...diff, lines } : fewer(replaced(before, after), before, after)
}

/** The difference of two texts with three lines around each change. */
export function diffOf(before: string, after: string): Diff {
  const patch = before.length + after.length > MOST_CHARS
    ? undefined : structuredPatch('', '', before, after, '', '', { context: 3, timeout: SEARCH_MS, maxEditLength: MOST_EDITED })
  if (!patch) return fewer(replaced(before, after), before, after)
  const out: Diff = { lines: [], skipped: Math.max((patch.hunks[0]?.oldStart ?? 1) - 1, 0), added: 0, removed: 0 }
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
  return fewer(out, before, after)
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
    skipped: 0,
    added: came.length,
    removed: gone.length,
  }
}

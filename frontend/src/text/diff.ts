import { compare, MAX_STEPS } from './compare'
import { MAX_LINES } from './limitLines'

export interface DiffLine {
  kind: 'same' | 'add' | 'del' | 'gap'
  text: string
  /** For a gap: the number of omitted lines, which are the same in both. */
  skipped?: number
  /** The number of lines in text, if more than one. */
  many?: number
}

export interface Diff {
  lines: DiffLine[]
  added: number
  removed: number
  /** Whether a part was too different to be compared line by line. */
  coarse: boolean
}

/** The number of unchanged lines shown before and after each change. */
const CONTEXT = 3

const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []

// Joins consecutive lines of one kind if there would be too many elements. If that is not enough, everything
// is shown as replaced.
function fewer(diff: Diff, before: string[], after: string[]): Diff {
  if (diff.lines.length <= MAX_LINES) return diff
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
  if (lines.length <= MAX_LINES) return { ...diff, lines }
  return fewer({ ...shownOf(before, after, ends(before, after)), coarse: true }, before, after)
}

/** Only the lines that are equal at the beginning and at the end. */
function ends(a: readonly string[], b: readonly string[]): [number, number][] {
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++
  return [
    ...Array.from({ length: head }, (_, i): [number, number] => [i, i]),
    ...Array.from({ length: tail }, (_, i): [number, number] => [a.length - tail + i, b.length - tail + i]),
  ]
}

/**
 * diffOf compares two texts line by line, with three lines around each change. The result depends only on the
 * texts, because the work is bounded by steps, not by time.
 */
export function diffOf(before: string, after: string, steps = MAX_STEPS): Diff {
  const [a, b] = [linesOf(before), linesOf(after)]
  const { same, coarse } = compare(...numbered(a, b), steps)
  return fewer({ ...shownOf(a, b, same), coarse }, a, b)
}

/** Converts two lists of texts to numbers, the same number for the same text. */
export function numbered(a: readonly string[], b: readonly string[]): [number[], number[]] {
  const known = new Map<string, number>()
  const numberOf = (text: string) => {
    const found = known.get(text)
    if (found !== undefined) return found
    known.set(text, known.size)
    return known.size - 1
  }
  return [a.map(numberOf), b.map(numberOf)]
}

function shownOf(a: readonly string[], b: readonly string[], same: readonly [number, number][]): Omit<Diff, 'coarse'> {
  const out: DiffLine[] = []
  const textOf = (line: string) => (line.endsWith('\n') ? line.slice(0, -1) : line)
  let [added, removed] = [0, 0]
  let [i, j] = [0, 0]
  let run: DiffLine[] = [] // consecutive unchanged lines so far
  const unchanged = (changesFollow: boolean) => {
    const head = out.length === 0 ? 0 : CONTEXT
    const tail = changesFollow ? CONTEXT : 0
    // A gap of one line would take as much space as the line itself.
    if (run.length <= head + tail + 1) out.push(...run)
    else
      out.push(
        ...run.slice(0, head),
        { kind: 'gap', text: '', skipped: run.length - head - tail },
        ...run.slice(run.length - tail),
      )
    run = []
  }
  for (const [x, y] of [...same, [a.length, b.length] as const]) {
    if (x > i || y > j) unchanged(true)
    removed += x - i
    added += y - j
    for (; i < x; i++) out.push({ kind: 'del', text: textOf(a[i]!) })
    for (; j < y; j++) out.push({ kind: 'add', text: textOf(b[j]!) })
    if (x < a.length) run.push({ kind: 'same', text: textOf(a[x]!) })
    ;[i, j] = [x + 1, y + 1]
  }
  if (added + removed > 0) unchanged(false)
  return { lines: out, added, removed }
}

/** tailOf returns how many lines at the end of a diff are unchanged. */
export function tailOf(lines: readonly DiffLine[]): number {
  const last = lines.findLastIndex((l) => l.kind === 'add' || l.kind === 'del')
  return last < 0 ? 0 : lines.length - 1 - last
}

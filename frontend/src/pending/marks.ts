import type { CommandPreview, RiskMark } from '@/wire/messages.gen'
import { limitLines } from '@/text/limitLines'
import { limitMarks, needsMarks } from '@/text/hidden'

export interface Segment {
  text: string
  level: RiskMark['level'] | null
}

const RANK = { low: 1, medium: 2, high: 3 }

/**
 * segments splits a text into lines of segments, each with the highest level of the marks over it.
 * Marks count UTF-16 units, like JavaScript strings.
 */
export function segments(text: string, marks: readonly RiskMark[]): Segment[][] {
  const cuts = new Set([0, text.length])
  for (const m of marks) {
    cuts.add(Math.min(m.from, text.length))
    cuts.add(Math.min(m.to, text.length))
  }
  const at = [...cuts].toSorted((a, b) => a - b)
  const lines: Segment[][] = [[]]
  for (let i = 0; i + 1 < at.length; i++) {
    const [from, to] = [at[i]!, at[i + 1]!]
    let level: Segment['level'] = null
    for (const m of marks) {
      if (m.from <= from && m.to >= to && m.to > m.from && (level === null || RANK[m.level] > RANK[level]))
        level = m.level
    }
    const parts = text.slice(from, to).split('\n')
    parts.forEach((part, j) => {
      if (j > 0) lines.push([])
      if (part !== '') lines.at(-1)!.push({ text: part, level })
    })
  }
  // As in CodeText, the newline at the end does not start another line.
  if (lines.length > 1 && text.endsWith('\n')) lines.pop()
  return limitLines(lines, (rest) =>
    rest.flatMap((line, i) => (i === 0 ? line : [{ text: '\n', level: null }, ...line])),
  )
}

interface Finding {
  mark: RiskMark
  /** The marked text, on one line. */
  text: string
}

const MAX_CHARS = 120

/**
 * findings returns the marks as a list, the worst first and without repetitions. Low ones are
 * included only if there are no others.
 */
export function findings(text: string, marks: readonly RiskMark[]): Finding[] {
  const seen = new Set<string>()
  const list = marks
    .toSorted((a, b) => RANK[b.level] - RANK[a.level] || a.from - b.from)
    .flatMap((mark): Finding[] => {
      const part = text
        .slice(mark.from, Math.min(mark.to, mark.from + 4 * MAX_CHARS))
        .replace(/\s+/g, ' ')
        .trim()
      const key = `${mark.kind} ${mark.reason} ${part}`
      if (seen.has(key)) return []
      seen.add(key)
      return [{ mark, text: part.length > MAX_CHARS ? part.slice(0, MAX_CHARS) + '…' : part }]
    })
  return list.some((f) => f.mark.level !== 'low') ? list.filter((f) => f.mark.level !== 'low') : list
}

/** RiskStep is a part of a command between two operators. */
export interface RiskStep {
  /** The exact text, from its operator to the next: all steps together are the command. */
  segments: Segment[][]
  /** Its risks, the worst first. */
  marks: RiskMark[]
}

const MAX_STEPS = 30

/**
 * stepsOf splits a command at its operators into one step for each simple command at the top level.
 * It returns none if that would not show the command exactly: if it could not be parsed, or
 * contains characters that need marks.
 */
export function stepsOf(text: string, command: CommandPreview | undefined): RiskStep[] {
  const top = command?.steps.filter((s) => s.depth === 0) ?? []
  if (!command || command.problem || top.length > MAX_STEPS || needsMarks(text) || limitMarks(text) !== text) return []
  const starts = top.map((s) => s.from)
  if (starts.some((at, i) => at < 0 || at >= text.length || (i > 0 && at <= starts[i - 1]!))) return []
  // The operator before a step belongs to it, and the space before the operator to the previous
  // step.
  const cuts = top.map((_, i) => {
    if (i === 0) return 0
    const at = Math.min(top[i - 1]!.to, starts[i]!)
    return Math.min(at + /^\s*/.exec(text.slice(at))![0].length, starts[i]!)
  })
  return cuts.map((from, i) => {
    const to = cuts[i + 1] ?? text.length
    const marks = command.marks.filter((m) => m.level !== 'low' && m.from < to && m.to > from)
    const own = marks.map((m) => ({ ...m, from: Math.max(0, m.from - from), to: Math.min(to, m.to) - from }))
    return {
      segments: segments(text.slice(from, to), own),
      marks: marks
        .filter((m) => m.from >= from)
        .toSorted((a, b) => RANK[b.level] - RANK[a.level])
        .filter((m, j, all) => all.findIndex((o) => o.kind === m.kind) === j),
    }
  })
}

import type { RiskMark } from '@/wire/messages.gen'
import { few } from '@/text/few'

interface Segment {
  text: string
  level: RiskMark['level'] | null
}

const RANK = { low: 1, medium: 2, high: 3 }

/**
 * Cuts a text into lines of segments, each with the highest level of the marks
 * over it. Marks count UTF-16 units, as strings do here.
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
  // As CodeText has it: the end of the last line is none of its own.
  if (lines.length > 1 && text.endsWith('\n')) lines.pop()
  return few(lines, (rest) => rest.flatMap((line, i) => (i === 0 ? line : [{ text: '\n', level: null }, ...line])))
}

interface Finding {
  mark: RiskMark
  /** What it speaks of, on one line. */
  text: string
}

const MOST_CHARS = 120

/** The marks as a list: the worst first, each said once, what is low only if nothing is worse. */
export function findings(text: string, marks: readonly RiskMark[]): Finding[] {
  const seen = new Set<string>()
  const list = marks
    .toSorted((a, b) => RANK[b.level] - RANK[a.level] || a.from - b.from)
    .flatMap((mark): Finding[] => {
      const part = text
        .slice(mark.from, Math.min(mark.to, mark.from + 4 * MOST_CHARS))
        .replace(/\s+/g, ' ')
        .trim()
      const key = `${mark.kind} ${mark.reason} ${part}`
      if (seen.has(key)) return []
      seen.add(key)
      return [{ mark, text: part.length > MOST_CHARS ? part.slice(0, MOST_CHARS) + '…' : part }]
    })
  return list.some((f) => f.mark.level !== 'low') ? list.filter((f) => f.mark.level !== 'low') : list
}

// Converts the output of a program, with terminal control sequences, into text with a few style classes.
// Sequences that move the cursor, erase, set titles or request a response are dropped, and printed text is
// never overwritten: a carriage return starts a new line.

export interface Run {
  text: string
  /** Class names, '' for plain. */
  look: string
}

// Operating system commands and similar (ended by BEL or ST), control sequences, character sets, and other
// escapes of one character.
const SEQUENCE =
  // oxlint-disable-next-line no-control-regex
  /\u001b(?:[\]PX^_][^\u0007\u001b]{0,4096}(?:\u0007|\u001b\\|$)|\[([0-9:;<=>?]{0,64})[ -/]{0,8}([@-~])|[()*+\-./][0-9A-Za-z]|[0-Z\\^-~])/g
const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white']

// With more runs than a person can distinguish, the text is shown plain, because each run is an element.
const MAX_RUNS = 600

interface Style {
  bold: boolean
  dim: boolean
  italic: boolean
  underline: boolean
  colour: string
}
const plain = (): Style => ({ bold: false, dim: false, italic: false, underline: false, colour: '' })

/** Splits output into runs of one style. */
export function runsOf(output: string): Run[] {
  const text = output.replace(/\r\n/g, '\n').replace(/\r/g, '\n')
  if (!text.includes('\u001b')) return text === '' ? [] : [{ text, look: '' }]
  const runs: Run[] = []
  let style = plain()
  let from = 0
  const push = (piece: string) => {
    if (piece === '') return
    const look = lookOf(style)
    const last = runs.at(-1)
    if (last?.look === look) last.text += piece
    else runs.push({ text: piece, look })
  }
  for (const match of text.matchAll(SEQUENCE)) {
    push(text.slice(from, match.index))
    from = match.index + match[0].length
    if (match[2] === 'm') style = styled(style, match[1]!)
  }
  push(text.slice(from))
  if (runs.length <= MAX_RUNS) return runs
  return [{ text: runs.map((r) => r.text).join(''), look: '' }]
}

function styled(style: Style, parameters: string): Style {
  let s = { ...style }
  const codes = parameters === '' ? [0] : parameters.split(/[;:]/).map(Number)
  for (let i = 0; i < codes.length; i++) {
    const c = codes[i]!
    if (c === 0) s = plain()
    else if (c === 1) s.bold = true
    else if (c === 2) s.dim = true
    else if (c === 3) s.italic = true
    else if (c === 4) s.underline = true
    else if (c === 22) s.bold = s.dim = false
    else if (c === 23) s.italic = false
    else if (c === 24) s.underline = false
    else if (c >= 30 && c <= 37) s.colour = COLOURS[c - 30]!
    else if (c >= 90 && c <= 97) s.colour = COLOURS[c - 90]!
    else if (c === 39) s.colour = ''
    else if (c === 38 || c === 48) {
      // Palette and RGB colors: the first sixteen have names.
      if (codes[i + 1] === 5) {
        const n = codes[i + 2] ?? -1
        if (c === 38) s.colour = n >= 0 && n < 16 ? COLOURS[n % 8]! : ''
        i += 2
      } else if (codes[i + 1] === 2) {
        if (c === 38) s.colour = ''
        i += 4
      }
    }
  }
  return s
}

function lookOf(s: Style): string {
  return [s.bold && 'bold', s.dim && 'dim', s.italic && 'italic', s.underline && 'underline', s.colour]
    .filter(Boolean)
    .join(' ')
}

/** Removes line breaks at the end. A regular expression would take quadratic time. */
export function withoutEnd(text: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === '\n') end--
  return text.slice(0, end)
}

/** The text without styles. */
export function textOf(output: string): string {
  return runsOf(output)
    .map((r) => r.text)
    .join('')
}

/**
 * Returns the runs of the first and last lines, and the number of lines between; null if there are few lines.
 */
export function folded(runs: Run[], head: number, tail: number): { head: Run[]; tail: Run[]; between: number } | null {
  const lines = runs.reduce((n, r) => n + count(r.text), 1)
  // Fewer hidden lines are not worth a fold.
  const MIN = 5
  if (lines < head + tail + MIN) return null
  return { head: cut(runs, 0, head), tail: cut(runs, lines - tail, lines), between: lines - head - tail }
}

function count(text: string): number {
  let n = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) n++
  return n
}

// Returns the runs of the lines from (inclusive) to (exclusive).
function cut(runs: Run[], from: number, to: number): Run[] {
  const out: Run[] = []
  let line = 0
  for (const run of runs) {
    const pieces = run.text.split('\n')
    const kept = pieces.flatMap((piece, i) =>
      line + i >= from && line + i < to ? [piece + (i < pieces.length - 1 ? '\n' : '')] : [],
    )
    line += pieces.length - 1
    const text = kept.join('')
    if (text !== '') out.push({ text, look: run.look })
  }
  const last = out.at(-1)
  if (last) last.text = last.text.replace(/\n$/, '')
  return out
}

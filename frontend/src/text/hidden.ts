// Characters that are invisible or change the order of others, so that a command looks different from the one
// that runs.
const NAMES: Record<number, string> = {
  0x0b: 'VT',
  0x0c: 'FF',
  0x0d: 'CR',
  0x1b: 'ESC',
  0x7f: 'DEL',
  0x85: 'NEL',
  0xa0: 'NBSP',
  0xad: 'SHY',
  0x034f: 'CGJ',
  0x061c: 'ALM',
  0x115f: 'HCF',
  0x1160: 'HJF',
  0x17b4: 'KIV',
  0x17b5: 'KIV',
  0x180e: 'MVS',
  0x200b: 'ZWSP',
  0x200c: 'ZWNJ',
  0x200d: 'ZWJ',
  0x200e: 'LRM',
  0x200f: 'RLM',
  0x2028: 'LSEP',
  0x2029: 'PSEP',
  0x202a: 'LRE',
  0x202b: 'RLE',
  0x202c: 'PDF',
  0x202d: 'LRO',
  0x202e: 'RLO',
  0x202f: 'NNBSP',
  0x2060: 'WJ',
  0x2066: 'LRI',
  0x2067: 'RLI',
  0x2068: 'FSI',
  0x2069: 'PDI',
  0x2800: 'BLANK',
  0x3000: 'IDSP',
  0x3164: 'HF',
  0xfeff: 'BOM',
  0xffa0: 'HHF',
}

// All Unicode controls, formats, private and surrogate codes, unassigned characters, white space other than
// the space, variation selectors, fillers and other invisible characters. Of combining marks: those without a
// name, those that change a sign into another, and those after the fourth, because a pile of marks covers
// other lines.
// oxlint-disable-next-line no-misleading-character-class
export const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{DI}\p{Noncharacter_Code_Point}\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000\ufffc\u{13441}-\u{13446}\u{16fe4}\u{1d159}]|(?<=^|[\s!-/:-@[-`{-~]|\p{M}{4})\p{M}/gu

// In a command or file name: characters that look like one of the signs in paths and commands.
const LOOKALIKES = /[\u01c3\u037e\u2024\u2044\u2215\u2236\u2571\u29f8\ua789]/u

// Right-to-left letters reorder the characters between them.
const FROM_RIGHT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u
const RUNS_FROM_RIGHT = new RegExp(`${FROM_RIGHT.source}+`, 'gu')
const IN_CODE = new RegExp(`${HIDDEN.source}|${LOOKALIKES.source}`, 'gu')

export const codeOf = (point: number): string => 'U+' + point.toString(16).toUpperCase().padStart(4, '0')
export const nameOf = (point: number): string => NAMES[point] ?? codeOf(point)

interface Piece {
  text: string
  /** The name of a hidden character. */
  hidden?: string
  /** The code point of a hidden character, as U+202E. */
  code?: string
  /** Right-to-left text, isolated so that it reorders nothing around it. */
  fromRight?: boolean
}

// White space in prose, but hidden characters in code.
const BLANKS = new Set(['\u00a0', '\u202f', '\u3000'])
const EMOJI_BEFORE = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f0-9#*]$/u
const EMOJI_AFTER = /^\p{Extended_Pictographic}/u

/** Reports whether a hidden character only joins or colors an emoji. */
function ofEmoji(text: string, at: number, char: string): boolean {
  if (char !== '\ufe0f' && char !== '\u200d') return false
  if (!EMOJI_BEFORE.test(text.slice(Math.max(0, at - 2), at))) return false
  return char === '\ufe0f' || EMOJI_AFTER.test(text.slice(at + 1, at + 3))
}

// Further hidden characters get no element, only their name in brackets: a megabyte of them would create a
// million elements.
const MAX_SIGNS = 2_000

/**
 * Splits a text into visible and hidden parts; tabs and newlines are visible. In prose, so are wide spaces
 * and the joiners of emoji, and letters keep the order of their language.
 */
export function pieces(text: string, prose = false): Piece[] {
  const out: Piece[] = []
  let from = 0
  let signs = 0
  const rest: string[] = []
  const put = (piece: Piece) => {
    if (signs < MAX_SIGNS) out.push(piece)
    else rest.push(piece.hidden === undefined ? piece.text : `[${piece.hidden}]`)
    if (piece.hidden !== undefined || piece.fromRight) signs++
  }
  const plain = (part: string) => {
    if (prose || !FROM_RIGHT.test(part)) return put({ text: part })
    let at = 0
    for (const run of part.matchAll(RUNS_FROM_RIGHT)) {
      if (run.index > at) put({ text: part.slice(at, run.index) })
      put({ text: run[0], fromRight: true })
      at = run.index + run[0].length
    }
    if (at < part.length) put({ text: part.slice(at) })
  }
  for (const match of text.matchAll(prose ? HIDDEN : IN_CODE)) {
    const char = match[0]
    if (char === '\n' || char === '\t') continue
    if (prose && (BLANKS.has(char) || ofEmoji(text, match.index, char))) continue
    if (match.index > from) plain(text.slice(from, match.index))
    const point = char.codePointAt(0)!
    put({ text: char, hidden: nameOf(point), code: codeOf(point) })
    from = match.index + char.length
  }
  if (from < text.length) plain(text.slice(from))
  if (rest.length > 0) out.push({ text: rest.join('') })
  return out
}

/** Returns prose as plain text, with the name of each hidden character in brackets. */
export function shown(text: string): string {
  return pieces(text, true)
    .map((p) => (p.hidden ? `[${p.hidden}]` : p.text))
    .join('')
}

/** Returns how many characters of code are hidden or look like others. */
export function hiddenCount(text: string): number {
  let n = 0
  for (const match of text.matchAll(IN_CODE)) if (match[0] !== '\n' && match[0] !== '\t') n++
  return n
}

/** needsMarks reports whether code contains characters that need marks. */
export const needsMarks = (text: string): boolean => FROM_RIGHT.test(text) || hiddenCount(text) > 0

/**
 * limitMarks returns the text, with the names of hidden characters in brackets if there are too many for
 * elements.
 */
export function limitMarks(text: string): string {
  return hiddenCount(text) > MAX_SIGNS
    ? pieces(text)
        .map((p) => (p.hidden ? `[${p.hidden}]` : p.text))
        .join('')
    : text
}

// Terminal colors and other sequences that start with ESC [.
// oxlint-disable-next-line no-control-regex
const ESCAPES = /\u001b\[[0-9;?]*[A-Za-z]/g

/** Removes terminal escape sequences from a text. */
export function escapes(text: string): string {
  return text.replace(ESCAPES, '').trim()
}

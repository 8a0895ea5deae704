// Characters that look like nothing or change the order of what is around them,
// so that a command shows as another than the one that runs.
const NAMES: Record<number, string> = {
  0x0b: 'VT', 0x0c: 'FF', 0x0d: 'CR', 0x1b: 'ESC', 0x7f: 'DEL', 0x85: 'NEL',
  0xa0: 'NBSP', 0xad: 'SHY', 0x034f: 'CGJ', 0x061c: 'ALM', 0x115f: 'HCF', 0x1160: 'HJF',
  0x17b4: 'KIV', 0x17b5: 'KIV', 0x180e: 'MVS', 0x200b: 'ZWSP', 0x200c: 'ZWNJ', 0x200d: 'ZWJ',
  0x200e: 'LRM', 0x200f: 'RLM', 0x2028: 'LSEP', 0x2029: 'PSEP', 0x202a: 'LRE', 0x202b: 'RLE',
  0x202c: 'PDF', 0x202d: 'LRO', 0x202e: 'RLO', 0x202f: 'NNBSP', 0x2060: 'WJ', 0x2066: 'LRI',
  0x2067: 'RLI', 0x2068: 'FSI', 0x2069: 'PDI', 0x2800: 'BLANK', 0x3000: 'IDSP', 0x3164: 'HF',
  0xfeff: 'BOM', 0xffa0: 'HHF',
}

// Everything of Unicode that is a control, a format, a private or a surrogate
// code, all blanks but the space, variation selectors and the fillers.
// oxlint-disable-next-line no-misleading-character-class
const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u00a0\u034f\u115f\u1160\u1680\u17b4\u17b5\u2000-\u200a\u202f\u205f\u2800\u3000\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/gu

export interface Piece {
  text: string
  /** Set for a hidden character: its name. */
  hidden?: string
  /** Its code point in the form U+202E. */
  code?: string
}

/** Cuts a text into what can be seen and what cannot; tab and newline stay text. */
export function pieces(text: string): Piece[] {
  const out: Piece[] = []
  let from = 0
  for (const match of text.matchAll(HIDDEN)) {
    const char = match[0]
    if (char === '\n' || char === '\t') continue
    if (match.index > from) out.push({ text: text.slice(from, match.index) })
    const point = char.codePointAt(0)!
    const code = 'U+' + point.toString(16).toUpperCase().padStart(4, '0')
    out.push({ text: char, hidden: NAMES[point] ?? code, code })
    from = match.index + char.length
  }
  if (from < text.length) out.push({ text: text.slice(from) })
  return out
}

export function hiddenCount(text: string): number {
  return pieces(text).filter((p) => p.hidden !== undefined).length
}

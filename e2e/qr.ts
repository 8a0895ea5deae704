// Reads a QR code as a camera does that sees every module: byte mode, level M,
// up to version 6, no errors to mend (ISO/IEC 18004).
const BLOCKS = [0, 1, 1, 1, 2, 2, 4]
const DATA = [0, 16, 28, 44, 64, 86, 108] // codewords of all blocks

const MASKS: ((r: number, c: number) => number)[] = [
  (r, c) => (r + c) % 2,
  (r) => r % 2,
  (_, c) => c % 3,
  (r, c) => (r + c) % 3,
  (r, c) => (Math.floor(r / 2) + Math.floor(c / 3)) % 2,
  (r, c) => ((r * c) % 2) + ((r * c) % 3),
  (r, c) => (((r * c) % 2) + ((r * c) % 3)) % 2,
  (r, c) => (((r + c) % 2) + ((r * c) % 3)) % 2,
]

/** The text of a code, given row by row without its quiet zone. */
export function decode(dark: boolean[][]): string {
  const n = dark.length
  const version = (n - 17) / 4
  const [blocks, data] = [BLOCKS[version], DATA[version]]
  if (!blocks || !data) throw new Error(`a code of ${n} modules`)
  const format = [0, 1, 2, 3, 4].reduce((bits, c) => bits * 2 + Number(dark[8]![c]), 0) ^ 0b10101
  if (format >> 3 !== 0) throw new Error('another level than M')
  const masked = MASKS[format & 7]!
  // Finders, timing, format and the one alignment pattern hold no data.
  const drawn = (r: number, c: number) =>
    r === 6 ||
    c === 6 ||
    (r < 9 && (c < 9 || c >= n - 8)) ||
    (r >= n - 8 && c < 9) ||
    (version > 1 && Math.abs(r - (n - 7)) <= 2 && Math.abs(c - (n - 7)) <= 2)

  const bits: number[] = []
  for (let right = n - 1, up = true; right > 0; right -= 2, up = !up) {
    if (right === 6) right--
    for (let i = 0; i < n; i++) {
      const r = up ? n - 1 - i : i
      for (const c of [right, right - 1]) {
        if (!drawn(r, c)) bits.push(Number(dark[r]![c]) ^ Number(masked(r, c) === 0))
      }
    }
  }
  const codeword = (i: number) => bits.slice(i * 8, i * 8 + 8).join('')
  let stream = ''
  for (let b = 0; b < blocks; b++) for (let i = 0; i < data / blocks; i++) stream += codeword(i * blocks + b)
  if (stream.slice(0, 4) !== '0100') throw new Error('another mode than bytes')
  const length = parseInt(stream.slice(4, 12), 2)
  return String.fromCharCode(...Array.from({ length }, (_, i) => parseInt(stream.slice(12 + i * 8, 20 + i * 8), 2)))
}

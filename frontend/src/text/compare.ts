// Compares two sequences of numbers: lines or words, with one number for each distinct one. The work is
// counted and bounded, so that the result depends only on the sequences, not on the device or its load.

/** The maximum number of steps of one comparison, about one frame on a phone. */
export const MAX_STEPS = 200_000
// How many times a part that is too different is split at unique common elements.
const MAX_CUTS = 3

export interface Comparison {
  /** The common elements in order: pairs of their indexes in both. */
  same: [number, number][]
  /** Whether a part was too different to be compared, and counts as replaced. */
  coarse: boolean
  /** The steps used. */
  steps: number
}

/** A range of both sequences; the ends are exclusive. */
interface Part {
  a: number
  aEnd: number
  b: number
  bEnd: number
}

/**
 * compare finds the common elements of two sequences, as many as the steps allow. Ranges that are too
 * different are split at elements that are unique in both.
 */
export function compare(a: readonly number[], b: readonly number[], steps = MAX_STEPS): Comparison {
  const same: [number, number][] = []
  let coarse = false
  let spent = 0

  /** Removes the common head and tail of a range; p is then the range between them. */
  function trim(p: Part): { head: number; tail: number } {
    let head = 0
    while (p.a + head < p.aEnd && p.b + head < p.bEnd && a[p.a + head] === b[p.b + head]) head++
    let tail = 0
    while (p.aEnd - tail > p.a + head && p.bEnd - tail > p.b + head && a[p.aEnd - 1 - tail] === b[p.bEnd - 1 - tail])
      tail++
    spent += head + tail
    return { head, tail }
  }

  function solve(whole: Part, share: number, cuts: number): void {
    const { head, tail } = trim(whole)
    for (let i = 0; i < head; i++) same.push([whole.a + i, whole.b + i])
    const part = { a: whole.a + head, aEnd: whole.aEnd - tail, b: whole.b + head, bEnd: whole.bEnd - tail }
    middle(part, share, cuts)
    for (let i = tail; i > 0; i--) same.push([whole.aEnd - i, whole.bEnd - i])
  }

  function middle(part: Part, share: number, cuts: number): void {
    if (part.a === part.aEnd || part.b === part.bEnd) return
    // Elements that the other side does not contain are changed in any case.
    const [inA, inB] = [counts(a, part.a, part.aEnd), counts(b, part.b, part.bEnd)]
    const left = placesOf(a, part.a, part.aEnd, inB)
    const right = placesOf(b, part.b, part.bEnd, inA)
    spent += part.aEnd - part.a + part.bEnd - part.b
    const found = myers(
      left.map((i) => a[i]!),
      right.map((i) => b[i]!),
      share,
    )
    spent += found.steps
    if (found.same) {
      for (const [i, j] of found.same) same.push([left[i]!, right[j]!])
      return
    }
    const anchors =
      cuts > 0
        ? rising(
            left.filter((i) => inA.get(a[i]!) === 1 && inB.get(a[i]!) === 1),
            right,
            b,
            a,
          )
        : []
    if (anchors.length === 0) {
      coarse = true
      return
    }
    // The remaining steps are divided by size, so that the result does not depend on the order.
    const size = part.aEnd - part.a + part.bEnd - part.b
    let [i, j] = [part.a, part.b]
    for (const [x, y] of [...anchors, [part.aEnd, part.bEnd] as const]) {
      const between = { a: i, aEnd: x, b: j, bEnd: y }
      solve(between, Math.floor((share * (x - i + y - j)) / size), cuts - 1)
      if (x < part.aEnd) same.push([x, y])
      ;[i, j] = [x + 1, y + 1]
    }
  }

  solve({ a: 0, aEnd: a.length, b: 0, bEnd: b.length }, steps, MAX_CUTS)
  return { same, coarse, steps: spent }
}

function counts(all: readonly number[], from: number, to: number): Map<number, number> {
  const out = new Map<number, number>()
  for (let i = from; i < to; i++) out.set(all[i]!, (out.get(all[i]!) ?? 0) + 1)
  return out
}

function placesOf(all: readonly number[], from: number, to: number, inOther: ReadonlyMap<number, number>): number[] {
  const out: number[] = []
  for (let i = from; i < to; i++) if (inOther.has(all[i]!)) out.push(i)
  return out
}

/** Returns the longest increasing sequence of unique common elements. */
function rising(
  left: readonly number[],
  right: readonly number[],
  b: readonly number[],
  a: readonly number[],
): [number, number][] {
  const at = new Map(right.map((j) => [b[j]!, j]))
  // The top of each pile is the smallest end of an increasing sequence of its length.
  const tops: number[] = []
  const before: number[] = []
  const partner = left.map((i) => at.get(a[i]!)!)
  partner.forEach((j, k) => {
    let low = 0
    let high = tops.length
    while (low < high) {
      const half = (low + high) >> 1
      if (partner[tops[half]!]! < j) low = half + 1
      else high = half
    }
    before[k] = low > 0 ? tops[low - 1]! : -1
    tops[low] = k
  })
  const out: [number, number][] = []
  for (let k = tops.at(-1) ?? -1; k >= 0; k = before[k]!) out.push([left[k]!, partner[k]!])
  return out.toReversed()
}

/** Finds the longest common subsequence by Myers' algorithm; no result if it takes more steps. */
function myers(
  a: readonly number[],
  b: readonly number[],
  most: number,
): { same: [number, number][] | null; steps: number } {
  const [n, m] = [a.length, b.length]
  if (n === 0 || m === 0) return { same: [], steps: 0 }
  let steps = 0
  // For each number of changes, how far each diagonal reaches, from -d to d in steps of two.
  const rows: Int32Array[] = []
  let row = new Int32Array(0)
  for (let d = 0; d <= n + m; d++) {
    const now = new Int32Array(d + 1)
    for (let i = 0; i <= d; i++) {
      const k = 2 * i - d
      // In the previous row, k-1 is at i-1 and k+1 at i.
      let x = d === 0 ? 0 : i === 0 ? row[0]! : i === d ? row[i - 1]! + 1 : Math.max(row[i - 1]! + 1, row[i]!)
      const from = x
      while (x < n && x - k < m && a[x] === b[x - k]) x++
      steps += 1 + x - from
      if (steps > most) return { same: null, steps }
      now[i] = x
      if (x >= n && x - k >= m) {
        rows.push(now)
        return { same: back(rows, n, m), steps }
      }
    }
    rows.push(now)
    row = now
  }
  return { same: [], steps }
}

/** Follows the path from the end to the beginning. */
function back(rows: readonly Int32Array[], n: number, m: number): [number, number][] {
  const out: [number, number][] = []
  let [x, y] = [n, m]
  for (let d = rows.length - 1; d > 0; d--) {
    const row = rows[d - 1]!
    const i = (x - y + d) / 2
    const down = i === 0 || (i !== d && row[i - 1]! + 1 < row[i]!)
    const [fromX, k] = down ? [row[i]!, x - y + 1] : [row[i - 1]!, x - y - 1]
    const fromY = fromX - k
    while (x > (down ? fromX : fromX + 1) && y > (down ? fromY + 1 : fromY)) out.push([--x, --y])
    ;[x, y] = [fromX, fromY]
  }
  while (x > 0 && y > 0) out.push([--x, --y])
  return out.toReversed()
}

// A megabyte of line ends would be a million elements. Nobody counts lines so far
// down, and nothing of them is left out.
export const MOST_LINES = 4_000

/** The lines, those after the most as one. */
export function few<T>(lines: T[], join: (rest: T[]) => T): T[] {
  return lines.length <= MOST_LINES ? lines : [...lines.slice(0, MOST_LINES - 1), join(lines.slice(MOST_LINES - 1))]
}

// A megabyte of line breaks would create a million elements. Nobody needs single lines so far
// down, so they share one element.
export const MAX_LINES = 4_000

/** limitLines returns at most MAX_LINES lines; the last one holds all that follow. */
export function limitLines<T>(lines: T[], join: (rest: T[]) => T): T[] {
  return lines.length <= MAX_LINES ? lines : [...lines.slice(0, MAX_LINES - 1), join(lines.slice(MAX_LINES - 1))]
}

import { computed } from 'vue'
import { oneOf, useStored } from '@/browser/useStored'
import { single } from '@/ui/narrow'
import type { DiffLine } from '@/text/diff'

const layout = useStored('sayso:diff', 'inline', oneOf('inline', 'sides'))

/** Whether removed and added lines are shown side by side if there is space, on this device. */
export const sides = computed(() => layout.value === 'sides')

export function showSides(on: boolean): void {
  layout.value = on ? 'sides' : 'inline'
}

/** fitsSides returns false if the window is too narrow for two columns. */
export const fitsSides = (): boolean => !single.value

/**
 * rowsOf returns the row of each line in a grid of two columns, from 1. The removed and added lines
 * of a change start in the same row; every other line has its own.
 */
export function rowsOf(lines: readonly Pick<DiffLine, 'kind'>[]): number[] {
  let next = 1 // after all placed lines
  let start = 1 // of the current change
  let del = 0
  let add = 0
  return lines.map(({ kind }) => {
    // Lines removed after added ones belong to the next change.
    if (kind === 'del' && add > 0) {
      start = next
      del = add = 0
    }
    const row = kind === 'del' ? start + del++ : kind === 'add' ? start + add++ : next
    next = Math.max(next, row + 1)
    if (kind === 'same' || kind === 'gap') {
      start = next
      del = add = 0
    }
    return row
  })
}

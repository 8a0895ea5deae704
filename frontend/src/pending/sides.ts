import { computed } from 'vue'
import { oneOf, useStored } from '@/browser/useStored'
import { single } from '@/ui/narrow'
import type { DiffLine } from '@/text/diff'

const layout = useStored('sayso:diff', 'inline', oneOf('inline', 'sides'))

/** Whether what is removed and what is added stand beside each other where there is room, on this device. */
export const sides = computed(() => layout.value === 'sides')

export function showSides(on: boolean): void {
  layout.value = on ? 'sides' : 'inline'
}

/** False where there is no room for two sides. */
export const roomForSides = (): boolean => !single.value

/**
 * The row of each line in a grid of two columns, from 1: of a change the removed
 * and the added lines begin in the same row, all else has a row of its own.
 */
export function rowsOf(lines: readonly Pick<DiffLine, 'kind'>[]): number[] {
  let next = 1 // after all that is placed
  let start = 1 // of the change that is under way
  let del = 0
  let add = 0
  return lines.map(({ kind }) => {
    // What is removed after something was added is a change of its own.
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

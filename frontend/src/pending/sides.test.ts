// @vitest-environment node
import { expect, it } from 'vitest'
import type { DiffLine } from '@/text/diff'
import { rowsOf } from './sides'

const rows = (kinds: string) =>
  rowsOf(
    [...kinds].map((k) => ({
      kind: ({ '=': 'same', '-': 'del', '+': 'add', '~': 'gap' } as const)[k] as DiffLine['kind'],
    })),
  )

it('puts removed lines next to added ones', () => {
  expect(rows('=--+=')).toEqual([1, 2, 3, 2, 4])
  expect(rows('-++=+~-')).toEqual([1, 1, 2, 3, 4, 5, 6])
  expect(rows('-+-+')).toEqual([1, 1, 2, 2])
  expect(rows('')).toEqual([])
})

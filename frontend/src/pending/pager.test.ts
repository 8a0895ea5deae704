import { expect, test } from 'vitest'
import { placeIn } from './pager'

test('a card has a place among others, and leads to those beside it', () => {
  const opened: string[] = []
  const at = (id: string, ids = ['a', 'b', 'c']) => placeIn(ids, id, (to) => opened.push(to))
  expect([at('a')?.at, at('c')?.at, at('c')?.of]).toEqual([1, 3, 3])
  at('b')!.go(1)
  at('b')!.go(-1)
  at('a')!.go(-1)
  expect(opened).toEqual(['c', 'a'])
  expect([at('d'), at('a', ['a'])]).toEqual([null, null])
})

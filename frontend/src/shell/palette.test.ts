import { beforeEach, expect, it } from 'vitest'
import { found, pagesFor, rank, useRecent, type Entry } from './palette'

const entry = (id: string, text: string, also = ''): Entry => ({ id, group: 'session', text, also, run() {} })

beforeEach(() => localStorage.clear())

it('finds each word anywhere, matches at the start first', () => {
  const list = [entry('a', 'Fix the parser'), entry('b', 'Parser tests'), entry('c', 'Sparse arrays', '/home/pars')]
  expect(found(list, 'pars', []).map((e) => e.id)).toEqual(['b', 'a', 'c'])
  expect(found(list, 'parser fix', []).map((e) => e.id)).toEqual(['a'])
  expect(found(list, 'nothing', [])).toEqual([])
  expect(rank('a (b) [c', '(b')).not.toBe(null)
})

it('puts the last used entry before its equals', () => {
  const list = [entry('a', 'Theme: Dark'), entry('b', 'Theme: Light')]
  const { recent, remember } = useRecent()
  remember('b')
  expect(found(list, 'theme', recent.value).map((e) => e.id)).toEqual(['b', 'a'])
  for (let i = 0; i < 30; i++) remember(`x${i}`)
  remember('a')
  expect(recent.value).toHaveLength(12)
  expect(useRecent().recent.value[0]).toBe('a')
})

it('links to the pages that the user may see, and finds rules by their name', () => {
  const went: string[] = []
  const of = (role: 'viewer' | 'member' | 'admin' | undefined) => pagesFor(role, (path) => went.push(path))
  expect(of(undefined)).toEqual([])
  expect(of('viewer').map((e) => e.text)).toEqual(['Tokens', 'Projects'])
  expect(of('admin')).toHaveLength(10)
  const [rules] = found(of('member'), 'rules', [])
  rules!.run()
  expect([rules!.text, went]).toEqual(['Permissions', ['/admin/grants']])
})

import { beforeEach, expect, test } from 'vitest'
import { Drafts } from './drafts'

const day = 24 * 3600_000
beforeEach(() => localStorage.clear())

test('a draft survives a reload', () => {
  new Drafts(localStorage).set('request:1', { text: 'half' })
  expect(new Drafts(localStorage).get('request:1')).toEqual({ text: 'half' })
})

test('drafts do not mix', () => {
  const drafts = new Drafts(localStorage)
  drafts.set('request:1', 'a')
  drafts.set('message:1', 'b')
  drafts.remove('request:1')
  expect(drafts.get('request:1')).toBeNull()
  expect(drafts.get('message:1')).toBe('b')
})

test('prunes old drafts only, and no other keys', () => {
  const drafts = new Drafts(localStorage)
  drafts.set('old', 1, 0)
  drafts.set('new', 2, 40 * day)
  localStorage.setItem('sayso:draft:broken', '{')
  localStorage.setItem('theme', 'dark')
  drafts.prune(41 * day)
  expect(drafts.get('old')).toBeNull()
  expect(drafts.get('new')).toBe(2)
  expect(localStorage.getItem('sayso:draft:broken')).toBeNull()
  expect(localStorage.getItem('theme')).toBe('dark')
})

test('ignores an unreadable draft', () => {
  localStorage.setItem('sayso:draft:x', '{')
  expect(new Drafts(localStorage).get('x')).toBeNull()
})

test('a full storage is not an error', () => {
  const storage = {
    setItem: () => {
      throw new Error('full')
    },
  } as unknown as Storage
  expect(() => new Drafts(storage).set('x', 1)).not.toThrow()
})

import { beforeEach, expect, test, vi } from 'vitest'
import { effectScope, ref } from 'vue'
import { oneOf, useStored } from './useStored'

beforeEach(() => localStorage.clear())

const strings = (text: string): string[] | undefined => {
  const value: unknown = JSON.parse(text)
  return Array.isArray(value) ? value.filter((v) => typeof v === 'string') : undefined
}

test('stores a choice and reads it again', () => {
  const theme = useStored('theme', 'light', oneOf('light', 'dark'))
  expect(theme.value).toBe('light')
  expect(localStorage.getItem('theme')).toBeNull()
  theme.value = 'dark'
  expect(localStorage.getItem('theme')).toBe('dark')
  expect(useStored('theme', 'light', oneOf('light', 'dark')).value).toBe('dark')
})

test('stores each of several changes made at once', () => {
  const recent = useStored<string[]>('recent', [], strings)
  for (const name of ['a', 'b', 'c']) recent.value = [...recent.value, name]
  expect(localStorage.getItem('recent')).toBe('["a","b","c"]')
})

test('updates all users of a key on the page', () => {
  const [one, other] = [
    useStored('theme', 'light', oneOf('light', 'dark')),
    useStored('theme', 'light', oneOf('light', 'dark')),
  ]
  one.value = 'dark'
  expect(other.value).toBe('dark')
})

test('does not store null', () => {
  localStorage.setItem('language', 'de')
  const language = useStored<string | null>('language', null, (text) => text)
  expect(language.value).toBe('de')
  language.value = null
  expect(localStorage.getItem('language')).toBeNull()
})

test.each(['mauve', ''])('falls back when the stored choice is %j', (stored) => {
  localStorage.setItem('theme', stored)
  expect(useStored('theme', 'light', oneOf('light', 'dark')).value).toBe('light')
})

test.each(['{', 'null', '{"a":1}'])('falls back when the stored JSON is %j', (stored) => {
  localStorage.setItem('recent', stored)
  expect(useStored('recent', ['none'], strings).value).toEqual(['none'])
})

test('follows its key, and does not write the value of one key under another', () => {
  localStorage.setItem('recent:grace', '["b"]')
  const person = ref('ada')
  const recent = useStored<string[]>(() => `recent:${person.value}`, [], strings)
  recent.value = ['a']
  person.value = 'grace'
  expect(recent.value).toEqual(['b'])
  person.value = 'linus'
  expect(recent.value).toEqual([])
  person.value = 'ada'
  expect(recent.value).toEqual(['a'])
  expect(localStorage.getItem('recent:linus')).toBeNull()
})

test('follows changes in another tab until its scope ends', () => {
  const scope = effectScope()
  const theme = scope.run(() => useStored('theme', 'light', oneOf('light', 'dark')))!
  const tell = (newValue: string) =>
    dispatchEvent(new StorageEvent('storage', { key: 'theme', newValue, storageArea: localStorage }))
  tell('dark')
  expect(theme.value).toBe('dark')
  scope.stop()
  tell('light')
  expect(theme.value).toBe('dark')
})

test('keeps the value for the life of the page when there is no storage', () => {
  vi.spyOn(Storage.prototype, 'setItem').mockImplementation(() => {
    throw new DOMException('full', 'QuotaExceededError')
  })
  const theme = useStored('theme', 'light', oneOf('light', 'dark'))
  theme.value = 'dark'
  expect(theme.value).toBe('dark')
})

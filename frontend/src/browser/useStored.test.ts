import { beforeEach, expect, test, vi } from 'vitest'
import { effectScope, ref } from 'vue'
import { oneOf, useStored } from './useStored'

beforeEach(() => localStorage.clear())

const strings = (text: string): string[] | undefined => {
  const value: unknown = JSON.parse(text)
  return Array.isArray(value) ? value.filter((v) => typeof v === 'string') : undefined
}

test('a choice is stored as it is and read again', () => {
  const theme = useStored('theme', 'light', oneOf('light', 'dark'))
  expect(theme.value).toBe('light')
  expect(localStorage.getItem('theme')).toBeNull()
  theme.value = 'dark'
  expect(localStorage.getItem('theme')).toBe('dark')
  expect(useStored('theme', 'light', oneOf('light', 'dark')).value).toBe('dark')
})

test('each of several changes at once is stored', () => {
  const recent = useStored<string[]>('recent', [], strings)
  for (const name of ['a', 'b', 'c']) recent.value = [...recent.value, name]
  expect(localStorage.getItem('recent')).toBe('["a","b","c"]')
})

test('all who keep a choice on one page follow each other', () => {
  const [one, other] = [
    useStored('theme', 'light', oneOf('light', 'dark')),
    useStored('theme', 'light', oneOf('light', 'dark')),
  ]
  one.value = 'dark'
  expect(other.value).toBe('dark')
})

test('null is not stored', () => {
  localStorage.setItem('language', 'de')
  const language = useStored<string | null>('language', null, (text) => text)
  expect(language.value).toBe('de')
  language.value = null
  expect(localStorage.getItem('language')).toBeNull()
})

test.each(['mauve', ''])('an unknown choice %j gives the fallback', (stored) => {
  localStorage.setItem('theme', stored)
  expect(useStored('theme', 'light', oneOf('light', 'dark')).value).toBe('light')
})

test.each(['{', 'null', '{"a":1}'])('damaged JSON %j gives the fallback', (stored) => {
  localStorage.setItem('recent', stored)
  expect(useStored('recent', ['none'], strings).value).toEqual(['none'])
})

test('the value follows its key, and the value of one key is not written under another', () => {
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

test('the value follows another tab until its scope ends', () => {
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

test('without storage the value lasts as long as the page', () => {
  vi.spyOn(Storage.prototype, 'setItem').mockImplementation(() => {
    throw new DOMException('full', 'QuotaExceededError')
  })
  const theme = useStored('theme', 'light', oneOf('light', 'dark'))
  theme.value = 'dark'
  expect(theme.value).toBe('dark')
})

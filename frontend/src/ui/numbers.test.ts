// @vitest-environment node
import { expect, test } from 'vitest'
import { bytes, bytesOf, countdown, duration } from './numbers'

test('durations', () => {
  expect([0, 0.04, 0.25, 9.5, 42.3, 60, 3599, 3600, 3900, 90_000, 180_000].map(duration)).toEqual([
    '0 s',
    '',
    '0.3 s',
    '9.5 s',
    '42 s',
    '1 min',
    '59 min',
    '1 h',
    '1 h 5 min',
    '1 day',
    '2 days',
  ])
})
test('countdowns', () => {
  expect([185, 59.2, 0, -3].map(countdown)).toEqual(['3:05', '1:00', '0:00', '0:00'])
})
test('sizes are in bytes, not characters', () => {
  expect(bytesOf('é')).toBe('2 B')
  expect([1023, 2048, 20_480, 3_145_728].map(bytes)).toEqual(['1023 B', '2.0 kB', '20 kB', '3.0 MB'])
})

import { expect, test } from 'vitest'
import { shownPath } from './path'

test.each([
  ['/w/a/b.go', '/w/a', 'b.go', false],
  ['/w/a/x/../b.go', '/w/a', 'b.go', false],
  ['/w/a/../b.go', '/w/a', '/w/b.go', true],
  ['/w/ab/c', '/w/a', '/w/ab/c', true],
  ['/etc/passwd', '/w/a', '/etc/passwd', true],
  ['b.go', '/w/a', 'b.go', false],
  ['../b.go', '/w/a', '../b.go', true],
  ['/a', '/', 'a', false],
])('%s in %s', (path, cwd, text, outside) => {
  expect(shownPath(path, cwd)).toEqual({ text, outside })
})

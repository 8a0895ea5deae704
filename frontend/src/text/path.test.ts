// @vitest-environment node
import { expect, test } from 'vitest'
import { homePath, shownPath } from './path'

test.each([
  ['/w/a/b.go', '/w/a', 'b.go', false],
  ['/w/a/x/../b.go', '/w/a', 'b.go', false],
  ['/w/a/../b.go', '/w/a', '/w/b.go', true],
  ['/w/ab/c', '/w/a', '/w/ab/c', true],
  ['/etc/passwd', '/w/a', '/etc/passwd', true],
  ['b.go', '/w/a', 'b.go', false],
  ['../b.go', '/w/a', '/w/b.go', true],
  ['/a', '/', 'a', false],
  ['x/../b.go', '/w/a', 'b.go', false],
  ['../a/b.go', '/w/a', 'b.go', false],
  ['x/../../b.go', '/w/a', '/w/b.go', true],
  ['.', '/w/a', '.', false],
  ['/w/a', '/w/a', '.', false],
  ['/w/a/', '/w/a/', '.', false],
  ['~/.bashrc', '/w/a', '~/.bashrc', true],
  ['~', '/w/a', '~', true],
  ['~draft', '/w/a', '~draft', false],
  ['', '/w/a', '', false],
])('%s in %s', (path, cwd, text, outside) => {
  expect(shownPath(path, cwd)).toEqual({ text, outside })
})

test.each([
  ['/home/mara/shop', '/home/mara', '~/shop'],
  ['/home/mara', '/home/mara', '~'],
  ['/home/marat/shop', '/home/mara', '/home/marat/shop'],
  ['/srv/shop', '', '/srv/shop'],
  ['/srv/shop', '/', '/srv/shop'],
])('%s with the home folder %s is %s', (path, home, shown) => {
  expect(homePath(path, home)).toBe(shown)
})

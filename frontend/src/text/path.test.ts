// @vitest-environment node
import { expect, test } from 'vitest'
import { homePath, insidePath, shownPath } from './path'

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

test.each([
  ['/w/a/b.go', 'b.go'],
  ['src/../b.go', 'b.go'],
  ['../a/b.go', 'b.go'],
  ['../b.go', null],
  ['/w/ab/c', null],
  ['/w/a', null],
  ['', null],
  ['~/b.go', null],
  ['.git/config', null],
  ['x/.GIT/config', null],
  ['a\0b', null],
  ['ü'.repeat(2100), null],
  ['javascript:alert(1)', 'javascript:alert(1)'],
])('the server reads %s as %s', (path, inside) => {
  expect(insidePath(path, '/w/a')).toBe(inside)
})

// Prints what of a report of `go test -json` may be tried a second time, a line for each package:
// its path, a space, and a pattern for -run. Exits 1 and prints nothing where a second try would
// hide a fault: a package that did not compile, panicked, raced, ran out of time or left a goroutine,
// or more than a few failed tests.
import { readFileSync } from 'node:fs'

const most = 5 // failed tests; more have one cause
const failed = new Map() // package → names of its failed tests
const ended = new Set() // packages that failed
const fatal = /^(panic: |fatal error: |WARNING: DATA RACE)/m
let hidden = false

// Tests are tried again with all of their subtests, but of the failpoint matrix, which takes a quarter of
// an hour, only the cells that failed.
const nameOf = (test) => (test.startsWith('TestMatrix/') ? test : test.split('/')[0])
const pattern = (test) => test.split('/').map((part) => `^${part.replace(/[.*+?()[\]{}^$|\\]/g, '\\$&')}$`).join('/')

for (const line of readFileSync(process.argv[2], 'utf8').split('\n')) {
  if (!line.startsWith('{')) continue
  const { Action, Package, Test, Output = '' } = JSON.parse(line)
  if (Action === 'build-fail' || fatal.test(Output)) hidden = true
  else if (Action === 'fail' && Test) failed.set(Package, (failed.get(Package) ?? new Set()).add(nameOf(Test)))
  else if (Action === 'fail') ended.add(Package)
}
for (const name of ended) hidden ||= !failed.has(name)
for (const tests of failed.values()) if (tests.size > 1) tests.delete('TestMatrix')
const count = [...failed.values()].reduce((sum, tests) => sum + tests.size, 0)
if (hidden || count === 0 || count > most) process.exit(1)
for (const [name, tests] of failed) console.log(name, [...tests].map(pattern).join('|'))

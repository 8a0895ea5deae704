// Adds up the reports of the suites that scripts/test wrote to .tools/reports/suites, prints
// one line for each and, last, "N passed, N failed". Exits 1 unless all passed.
// A suite that left no readable report counts as one failure: it did not run.
import { readFileSync } from 'node:fs'

const read = (name) => readFileSync(new URL(`../.tools/reports/${name}`, import.meta.url), 'utf8')

// A test that has subtests is counted through them. A package that failed with
// no failed test (it did not compile, a goroutine survived) is one failure.
function countGo(report) {
  const outcome = new Map()
  const failedPackages = new Set()
  for (const line of read(report).split('\n')) {
    if (!line.startsWith('{')) continue
    const { Action, Package, Test, ImportPath } = JSON.parse(line)
    if (!['pass', 'fail', 'skip', 'build-fail'].includes(Action)) continue
    if (Test) outcome.set(`${Package} ${Test}`, Action)
    else if (Action === 'fail' || Action === 'build-fail') failedPackages.add(Package ?? ImportPath)
  }
  const again = []
  for (const { Action, Package, Test } of secondTry(report)) {
    if (Action === 'pass' && !Test) failedPackages.delete(Package)
    if (!Test || !['pass', 'fail'].includes(Action)) continue
    const key = `${Package} ${Test}`
    if (Action === 'pass' && outcome.get(key) === 'fail' && !Test.includes('/')) again.push(key)
    outcome.set(key, Action)
  }
  const parents = new Set()
  for (const key of outcome.keys()) {
    for (let at = key.lastIndexOf('/'); at > key.indexOf(' '); at = key.lastIndexOf('/', at - 1)) parents.add(key.slice(0, at))
  }
  const count = { passed: 0, failed: 0, skipped: 0 }
  const blamed = new Set()
  for (const [key, action] of outcome) {
    if (action === 'fail') blamed.add(key.split(' ')[0])
    if (parents.has(key)) continue
    count[{ pass: 'passed', fail: 'failed', skip: 'skipped' }[action]]++
  }
  // A parent may fail on its own, with all its subtests passing.
  for (const pkg of failedPackages) if (!blamed.has(pkg)) count.failed++
  for (const [key, action] of outcome) {
    if (action !== 'fail' || !parents.has(key)) continue
    const childFailed = [...outcome].some(([other, its]) => its === 'fail' && other.startsWith(key + '/'))
    if (!childFailed) count.failed++
  }
  return { ...count, again }
}

// What scripts/test-go tried once more, or nothing.
function secondTry(report) {
  try {
    return read(report.replace('.ndjson', '.again.ndjson')).split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
  } catch {
    return []
  }
}

function countWeb() {
  const report = JSON.parse(read('web.json'))
  const emptyFailures = report.testResults.filter((file) => file.status === 'failed' && !file.assertionResults.some((t) => t.status === 'failed'))
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + emptyFailures.length,
    skipped: report.numPendingTests + (report.numTodoTests ?? 0),
  }
}

const specsOf = (suite) => [...(suite.specs ?? []), ...(suite.suites ?? []).flatMap(specsOf)]

// A test that passed at its second try is listed by name, because it may be a race of ours.
function countBrowser() {
  const { stats, errors, suites } = JSON.parse(read('e2e.json'))
  const again = suites.flatMap(specsOf).filter((spec) => spec.tests.some((one) => one.status === 'flaky')).map((spec) => `${spec.file}: ${spec.title}`)
  return { passed: stats.expected + stats.flaky, failed: stats.unexpected + errors.length, skipped: stats.skipped, again }
}

const say = ({ passed, failed, skipped }) => `${passed} passed, ${failed} failed` + (skipped ? `, ${skipped} skipped` : '')
const counts = {
  go: ['Go', () => countGo('go.ndjson')],
  'go-plain': ['Go (without the race detector)', () => countGo('go-plain.ndjson')],
  failpoints: ['failpoint', () => countGo('failpoints.ndjson')],
  web: ['web app', countWeb],
  browser: ['browser', countBrowser],
  fuzz: ['fuzz', () => JSON.parse(read('fuzz.json'))],
}
const total = { passed: 0, failed: 0, skipped: 0 }
for (const suite of read('suites').trim().split('\n')) {
  const [name, count] = counts[suite]
  let counted
  try {
    counted = count()
    if (counted.passed + counted.failed === 0) throw new Error('it holds no test')
    console.log(`${name} tests: ${say(counted)}`)
    for (const test of counted.again ?? []) console.log(`  flaky, passed at the second try: ${test}`)
  } catch (cause) {
    counted = { passed: 0, failed: 1, skipped: 0 }
    console.log(`${name} tests: no report (${cause.message})`)
  }
  for (const key in total) total[key] += counted[key]
}
console.log(say(total))
process.exitCode = total.failed === 0 ? 0 : 1

// Prints the tests that took longest, from the reports in .tools/reports.
//
//   node scripts/slowest.mjs [how many of each kind]     default: 30
import { readFileSync } from 'node:fs'

const count = Number(process.argv[2] ?? 30)
const read = (name) => {
  try {
    return readFileSync(new URL(`../.tools/reports/${name}`, import.meta.url), 'utf8')
  } catch {
    return ''
  }
}

function goTests(report) {
  const all = new Map()
  for (const line of read(report).split('\n')) {
    if (!line.startsWith('{')) continue
    const { Action, Package, Test, Elapsed } = JSON.parse(line)
    if (['pass', 'fail'].includes(Action) && Test) all.set(`${Package} ${Test}`, Elapsed)
  }
  // A test with subtests is named through them.
  for (const name of [...all.keys()]) {
    const slash = name.indexOf('/', name.indexOf(' '))
    if (slash > 0) all.delete(name.slice(0, slash))
  }
  return [...all]
}

const specsOf = (suite) => [...(suite.specs ?? []), ...(suite.suites ?? []).flatMap(specsOf)]

function browserTests() {
  const report = read('e2e.json')
  if (!report) return []
  return JSON.parse(report)
    .suites.flatMap(specsOf)
    .flatMap((spec) =>
      spec.tests.map((one) => [
        `${spec.file}: ${spec.title} (${one.projectName})`,
        one.results.reduce((sum, result) => sum + result.duration, 0) / 1000,
      ]),
    )
}

for (const [kind, tests] of [
  ['Go', [...goTests('go.ndjson'), ...goTests('go-plain.ndjson')]],
  ['browser', browserTests()],
]) {
  if (tests.length === 0) continue
  console.log(`Slowest ${kind} tests:`)
  tests.sort((a, b) => b[1] - a[1])
  for (const [name, seconds] of tests.slice(0, count)) console.log(`${seconds.toFixed(1).padStart(8)} s  ${name}`)
}

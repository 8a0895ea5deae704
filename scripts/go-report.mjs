// Reads `go test -json` from stdin, writes it to the file named as the argument,
// and prints a line for each package and the output of each test that failed.
import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'

const kept = createWriteStream(process.argv[2])
const output = new Map() // of each test, and of each package outside its tests
const passed = new Map() // number of tests of each package

for await (const line of createInterface({ input: process.stdin })) {
  kept.write(line + '\n')
  let said
  try {
    said = JSON.parse(line)
  } catch {
    console.log(line)
    continue
  }
  const { Action, Package = said.ImportPath, Test, Output, Elapsed } = said
  const key = Test ? `${Package} ${Test}` : Package
  if (Action === 'output' || Action === 'build-output') {
    output.set(key, (output.get(key) ?? '') + Output)
  } else if (Action === 'fail' || Action === 'build-fail') {
    process.stdout.write(output.get(key) ?? '')
    if (!Test) console.log(`FAIL  ${Package}`)
  } else if (Action === 'pass' && Test) {
    passed.set(Package, (passed.get(Package) ?? 0) + 1)
    output.delete(key)
  } else if (Action === 'pass' && passed.get(Package)) {
    console.log(`ok    ${Package}  ${passed.get(Package)} tests  ${Elapsed.toFixed(1)} s`)
  } else if (Action === 'skip' && Test) {
    console.log(`skip  ${Package} ${Test}`)
  }
}

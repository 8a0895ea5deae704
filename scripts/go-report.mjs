// Reads `go test -json` from stdin, writes it to the file named as the argument,
// and prints a line for each package and the output of each test that failed. Of a
// package that failed it prints the tests that had not ended, too: when its time is
// up, the stacks of its goroutines are in their output.
import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'

const kept = createWriteStream(process.argv[2])
const outputs = new Map() // package → test, '' for what is outside of tests → its output
const passed = new Map() // package → number of tests that passed

const outputsOf = (name) => {
  if (!outputs.has(name)) outputs.set(name, new Map())
  return outputs.get(name)
}

for await (const line of createInterface({ input: process.stdin })) {
  kept.write(line + '\n')
  let event
  try {
    event = JSON.parse(line)
  } catch {
    console.log(line)
    continue
  }
  const { Action, Package = event.ImportPath, Test = '', Output, Elapsed } = event
  const output = outputsOf(Package)
  if (Action === 'output' || Action === 'build-output') {
    output.set(Test, (output.get(Test) ?? '') + Output)
  } else if (Action === 'fail' || Action === 'build-fail') {
    const text = output.get(Test) ?? ''
    process.stdout.write(text)
    const seed = /-rapid\.seed=(\d+)/.exec(text)?.[1]
    if (seed) console.log(`    To repeat it: make sim SEED=${seed} PACKAGE=${Package.replace(/^[^/]+\/[^/]+\/[^/]+/, '.')} RUN=${Test.split('/')[0]}`)
    output.delete(Test)
    if (Test) continue
    for (const [test, text] of output) process.stdout.write(`--- NOT ENDED: ${test}\n${text}`)
    console.log(`FAIL  ${Package}`)
  } else if (Action === 'pass' && Test) {
    passed.set(Package, (passed.get(Package) ?? 0) + 1)
    output.delete(Test)
  } else if (Action === 'pass' && passed.get(Package)) {
    console.log(`ok    ${Package}  ${passed.get(Package)} tests  ${Elapsed.toFixed(1)} s`)
  } else if (Action === 'skip' && Test) {
    console.log(`skip  ${Package} ${Test}`)
    output.delete(Test)
  }
}

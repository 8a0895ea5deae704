import type { Reporter, TestCase, TestResult } from '@playwright/test/reporter'

/** Prints what the measurements say, and why one failed. */
export default class Figures implements Reporter {
  onBegin() {
    console.log('| what | figure | limit |\n|---|---:|---|')
  }
  onStdOut(chunk: string | Buffer) {
    process.stdout.write(chunk)
  }
  onTestEnd(test: TestCase, result: TestResult) {
    if (result.status !== 'passed') console.log(`${test.title}: ${result.status}\n${result.error?.stack ?? ''}`)
  }
  printsToStdio = () => true
}

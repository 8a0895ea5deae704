import { writeFileSync } from 'node:fs'

import type { Reporter, TestCase, TestResult } from '@playwright/test/reporter'

/** Prints what the measurements say, and why one failed. BENCH_ROWS names a file that gets the rows. */
export default class Figures implements Reporter {
  private rows: { what: string; figure: string; limit: string }[] = []

  onBegin() {
    console.log('| what | figure | limit |\n|---|---:|---|')
  }
  onStdOut(chunk: string | Buffer) {
    process.stdout.write(chunk)
    for (const line of String(chunk).split('\n')) {
      const [, what, figure, limit] = /^\| (.*) \| (.*) \| (.*) \|$/.exec(line) ?? []
      if (what !== undefined) this.rows.push({ what, figure: figure!, limit: limit! })
    }
  }
  onTestEnd(test: TestCase, result: TestResult) {
    if (result.status !== 'passed') console.log(`${test.title}: ${result.status}\n${result.error?.stack ?? ''}`)
  }
  onEnd() {
    const file = process.env.BENCH_ROWS
    if (file) writeFileSync(file, JSON.stringify(this.rows))
  }
  printsToStdio = () => true
}

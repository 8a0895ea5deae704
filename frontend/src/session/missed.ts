import type { Item } from '@/wire/messages.gen'

/** Missed counts what happened in a transcript while the person was away. */
export interface Missed {
  edits: number
  files: number
  commands: number
  tests: number
  failed: number
  answered: number
  turns: number
  /** Key of the first unseen block. */
  first: string
}

const EDITS = new Set(['Edit', 'MultiEdit', 'Write', 'NotebookEdit'])
// Commands of test runners. This is a guess, and only a summary depends on it.
const TESTS =
  /\b(?:go test|(?:npm|pnpm|yarn|bun)(?: run)? test|make (?:test|check)|cargo (?:test|nextest)|pytest|vitest|jest|playwright test|mvn test|gradle test|rspec|phpunit|dotnet test|ctest)\b/

const text = (input: unknown, field: string): string => {
  const value = typeof input === 'object' && input !== null ? (input as Record<string, unknown>)[field] : undefined
  return typeof value === 'string' ? value : ''
}

/** missedOf counts what happened after a seq; null if nothing is worth mentioning. */
export function missedOf(items: readonly Item[], after: number): Missed | null {
  const fresh = items.filter((it) => it.seq > after && it.kind !== 'user')
  if (fresh.length === 0) return null
  const files = new Set<string>()
  const missed: Missed = {
    edits: 0,
    files: 0,
    commands: 0,
    tests: 0,
    failed: 0,
    answered: 0,
    turns: 0,
    first: fresh[0]!.key,
  }
  for (const it of fresh) {
    if (it.kind === 'resolved') missed.answered++
    else if (it.kind === 'result') missed.turns++
    else if (it.kind === 'tool_call') {
      if (it.status === 'failed' && !it.no_result) missed.failed++
      if (EDITS.has(it.tool_name)) {
        missed.edits++
        files.add(it.change?.path || text(it.input, 'file_path') || text(it.input, 'notebook_path'))
      } else if (it.tool_name === 'Bash') {
        if (TESTS.test(text(it.input, 'command'))) missed.tests++
        else missed.commands++
      }
    }
  }
  missed.files = files.size
  return missed.edits + missed.commands + missed.tests + missed.answered + missed.turns === 0 ? null : missed
}

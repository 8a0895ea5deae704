import { list } from '@/i18n/format'
import type { RiskMark } from '@/wire/messages.gen'
import type { ToolInput } from './edit'
import { words } from './words'

const RANK = { low: 1, medium: 2, high: 3 }
const MAX_CHARS = 40
/** Options that decide how dangerous a git command is. */
const GIT_FLAGS = /^(--force\S*|--hard|--delete|--mirror|--prune|-[a-zA-Z]*[fD][a-zA-Z]*|\+\S+)$/
/** Options that decide how dangerous rm is. */
const RM_FLAGS = /^(--recursive|--force|-[a-zA-Z]*[rRf][a-zA-Z]*)$/
/** Programs that run another one, whose name is more informative. */
const RUNS_AS = new Set(['sudo', 'doas', 'pkexec'])
/** Options of git before its command that take a value. */
const GIT_TAKES = new Set(['-C', '-c', '--git-dir', '--work-tree', '--namespace'])

const base = (word: string) =>
  word
    .replace(/['"\\]/g, '')
    .split('/')
    .at(-1) ?? ''
const typeable = (word: string) => /^[\x21-\x7e]+( [\x21-\x7e]+)?$/.test(word) && word.length <= MAX_CHARS

/**
 * Returns the word to type to confirm a command: the program, with the option that makes it
 * dangerous, at the mark of the highest level. Marks count UTF-16 units of text. It is '' if a
 * keyboard cannot type any.
 */
export function dangerousWord(text: string, marks: readonly RiskMark[]): string {
  const worst = marks.toSorted((a, b) => RANK[b.level] - RANK[a.level] || a.from - b.from)[0]
  if (!worst) return ''
  const part = text.slice(worst.from, worst.to)
  // The fetched or printed part is harmless; the part that it is piped into runs it.
  const runs = ['download_run', 'decode_run', 'pipe_run'].includes(worst.kind) ? part.split(/\|&?/).at(-1)! : part
  const words = runs.trim().split(/\s+/)
  while (words.length > 1 && (/^\w+=/.test(words[0]!) || runsNext(words))) words.shift()
  const program = base(words[0] ?? '')
  const found = withOption(program, words.slice(1))
  return typeable(found) ? found : typeable(program) ? program : ''
}

/** runsNext reports whether the first word runs the second as another user. */
const runsNext = ([first, next]: string[]) => RUNS_AS.has(base(first!)) && /^[^-]/.test(next!)

function withOption(program: string, args: string[]): string {
  if (program === 'git') return gitWord(args) || program
  const flag = program === 'rm' ? args.find((a) => RM_FLAGS.test(a)) : undefined
  return flag === undefined ? program : `${program} ${flag}`
}

/**
 * confirmationWord returns the word to type to confirm an input: its dangerous word, the name of
 * its file, or the tool.
 */
export function confirmationWord(input: ToolInput, marks: readonly RiskMark[], tool: string): string {
  const file = String(input['file_path'] ?? input['notebook_path'] ?? '')
    .split('/')
    .at(-1)!
  return dangerousWord(String(input['command'] ?? ''), marks) || (/^[\x21-\x7e]{1,40}$/.test(file) ? file : tool)
}

const MAX_NAMED = 3

/**
 * harmOf returns what a command does at its marks of high risk, as one sentence, or a general one if
 * that does not say all of it.
 */
export function harmOf(marks: readonly RiskMark[]): string {
  const high = marks.filter((m) => m.level === 'high').toSorted((a, b) => a.from - b.from)
  const does = [...new Set(high.map((m) => m.kind))].map((kind) => words.highRisk.does[kind])
  if (does.length === 0 || does.length > MAX_NAMED || does.includes(undefined)) return words.highRisk.why
  const all = list(does.map((d) => d!))
  return `${all[0]!.toUpperCase()}${all.slice(1)}.`
}

function gitWord(words: string[]): string {
  let i = 0
  while (i < words.length && words[i]!.startsWith('-')) i += GIT_TAKES.has(words[i]!) ? 2 : 1
  const command = words[i]
  if (command === undefined) return ''
  const flag = words.slice(i + 1).find((w) => GIT_FLAGS.test(w))
  return flag === undefined ? command : `${command} ${flag}`
}

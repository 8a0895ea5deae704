const MAX_WORDS = 4
const MAX_LENGTH = 40
// Words that do not describe the task.
const FILLERS = new Set(
  'a an and at by for from in into is it its of on once or please so that the then this to with der die das den dem ein eine einen und oder in im mit von zu zum zur bitte fur auf'.split(
    ' ',
  ),
)

/** Proposes an unused branch name for a task. */
export function proposeBranch(task: string, taken: readonly string[]): string {
  const words = task
    .slice(0, 500)
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .split(/[^a-z0-9]+/)
    .filter((w) => w && !FILLERS.has(w))
  let name = ''
  for (const word of words.slice(0, MAX_WORDS)) {
    const longer = name ? `${name}-${word}` : word.slice(0, MAX_LENGTH)
    if (longer.length > MAX_LENGTH) break
    name = longer
  }
  name ||= 'session'
  // The folder of a/b is called a-b.
  const others = new Set(taken.map((b) => b.replaceAll('/', '-')))
  let free = name
  for (let n = 2; others.has(free); n++) free = `${name}-${n}`
  return free
}

/** Quotes an argument for a POSIX shell. */
export const quoted = (arg: string): string =>
  /^[\w./:@+-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", String.raw`'\''`)}'`

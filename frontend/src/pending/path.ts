/** A path as shown in a session that works in cwd. */
export interface ShownPath {
  text: string
  /** The file lies outside the folder of the session. */
  outside: boolean
}

export function shownPath(path: string, cwd: string): ShownPath {
  const root = cwd.endsWith('/') ? cwd : cwd + '/'
  if (!path.startsWith('/')) return { text: path, outside: /(^|\/)\.\.(\/|$)/.test(path) }
  const clean = normal(path)
  if (clean.startsWith(root)) return { text: clean.slice(root.length), outside: false }
  return { text: clean, outside: true }
}

function normal(path: string): string {
  const out: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part === '..') out.pop()
    else out.push(part)
  }
  return '/' + out.join('/')
}

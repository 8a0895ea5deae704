/** A path as shown in a session that works in cwd. */
interface ShownPath {
  text: string
  /** Whether the file is outside the folder of the session. */
  outside: boolean
}

/** Resolves a path as Claude's tools do: a relative path starts in cwd, and ~ is the home folder. */
export function shownPath(path: string, cwd: string): ShownPath {
  if (path === '') return { text: '', outside: false }
  if (/^~(\/|$)/.test(path)) return { text: path, outside: true }
  const root = normal(cwd)
  const full = normal(path.startsWith('/') ? path : `${cwd}/${path}`)
  if (full === root) return { text: '.', outside: false }
  const inside = root === '/' ? root : `${root}/`
  return full.startsWith(inside) ? { text: full.slice(inside.length), outside: false } : { text: full, outside: true }
}

/** The server refuses longer paths, in bytes. */
const MAX_PATH = 4096

/** Returns a path relative to the folder cwd, in the form in which the server reads files, or null if it leads elsewhere. */
export function insidePath(path: string, cwd: string): string | null {
  const { text, outside } = shownPath(path, cwd)
  if (outside || text === '' || text === '.' || text.includes('\0')) return null
  if (new TextEncoder().encode(text).length > MAX_PATH) return null
  return text.split('/').some((part) => part.toLowerCase() === '.git') ? null : text
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

/** Replaces the home folder at the start of a path by ~. */
export const homePath = (path: string, home: string): string =>
  home !== '' && home !== '/' && (path === home || path.startsWith(`${home}/`)) ? `~${path.slice(home.length)}` : path

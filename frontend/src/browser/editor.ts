import { oneOf, useStored } from './useStored'

/** The product names of the editors, by the name in their addresses. */
export const EDITOR_NAMES = {
  none: '',
  vscode: 'VS Code',
  'vscode-insiders': 'VS Code Insiders',
  cursor: 'Cursor',
  zed: 'Zed',
  idea: 'IntelliJ IDEA',
  'web-storm': 'WebStorm',
  goland: 'GoLand',
  pycharm: 'PyCharm',
  'php-storm': 'PhpStorm',
  rubymine: 'RubyMine',
  clion: 'CLion',
  rd: 'Rider',
  rustrover: 'RustRover',
} as const
export type Editor = keyof typeof EDITOR_NAMES
export const EDITORS = Object.keys(EDITOR_NAMES) as Editor[]

/** The editor that opens files. The browser stores it, because editors are installed on devices. */
export const editor = useStored<Editor>('sayso:editor', 'none', oneOf(...EDITORS))

// ssh parses a host that begins with a hyphen as an option.
const HOST = /^(?:\w[\w.-]*@)?\w[\w.-]*(?::\d{1,5})?$/
export const isHost = (text: string): boolean => text.length <= 255 && HOST.test(text)

/** The SSH host on which the server of sayso runs, as the editor knows it; '' if it runs on this device. */
export const editorHost = useStored('sayso:editor-host', '', (text) => (isHost(text) ? text : undefined))

/** Whether an editor can open files of an SSH host by an address. */
export const isRemote = (name: Editor): boolean => ['vscode', 'vscode-insiders', 'cursor', 'zed'].includes(name)

/**
 * Returns the address that opens a file in the chosen editor, or null if there is none. folder is an absolute
 * path; path is relative to it, '' for the folder itself; line counts from 1, 0 for none. It returns null for a
 * file whose name ends with a colon and a number, because an editor would read a line number, and for a
 * workspace file, because VS Code would open the folders that it names instead of the file.
 */
export function editorAddress(folder: string, path: string, line = 0): string | null {
  const name = editor.value
  const root = folder.replace(/\/+$/, '')
  const parts = path === '' ? [] : path.split('/')
  const full = [root, ...parts].join('/')
  if (name === 'none' || !folder.startsWith('/')) return null
  if (parts.some((p) => p === '' || p === '.' || p === '..') || /[\p{Cc}\p{Cs}]|:\d+$|\.code-workspace$/iu.test(full))
    return null
  const encoded = full.split('/').map(encodeURIComponent).join('/') || '/'
  const at = path !== '' && line > 0 ? `:${line}` : ''
  const host = editorHost.value
  switch (name) {
    case 'vscode':
    case 'vscode-insiders':
    case 'cursor':
      // VS Code opens a path on another host as a folder, unless it has a line.
      return host
        ? `${name}://vscode-remote/ssh-remote+${encodeURIComponent(host)}${encoded}${path === '' ? '' : at || ':1'}`
        : `${name}://file${encoded}${at}`
    case 'zed':
      return host ? `zed://ssh/${host}${encoded}${at}` : `zed://file${encoded}${at}`
    default: {
      // The IDEs of JetBrains identify a project by its name, and count lines from 0.
      const project = `jetbrains://${name}/navigate/reference?project=${encodeURIComponent(root.split('/').at(-1)!)}`
      if (path === '') return project
      return path.includes(':') ? null : `${project}&path=${encodeURIComponent(path)}${line > 0 ? `:${line - 1}` : ''}`
    }
  }
}

import { afterEach, expect, test } from 'vitest'
import { editor, editorAddress, editorHost, EDITORS, isHost } from './editor'

afterEach(() => {
  editor.value = 'none'
  editorHost.value = ''
})

test('there is no address until an editor is chosen', () => {
  expect(editorAddress('/home/mara/shop', 'src/a.ts')).toBeNull()
})

test.each([
  ['vscode', '', 'src/a b.ts', 12, 'vscode://file/home/mara/shop/src/a%20b.ts:12'],
  ['vscode', '', 'src/a.ts', 0, 'vscode://file/home/mara/shop/src/a.ts'],
  ['vscode', '', '', 0, 'vscode://file/home/mara/shop'],
  ['vscode', 'ana@atlas', 'src/a.ts', 12, 'vscode://vscode-remote/ssh-remote+ana%40atlas/home/mara/shop/src/a.ts:12'],
  ['vscode', 'atlas', 'src/a.ts', 0, 'vscode://vscode-remote/ssh-remote+atlas/home/mara/shop/src/a.ts:1'],
  ['vscode-insiders', 'atlas', '', 0, 'vscode-insiders://vscode-remote/ssh-remote+atlas/home/mara/shop'],
  ['cursor', '', 'ü.md', 3, 'cursor://file/home/mara/shop/%C3%BC.md:3'],
  ['zed', '', 'src/a.ts', 7, 'zed://file/home/mara/shop/src/a.ts:7'],
  ['zed', 'ana@atlas:2222', 'src/a.ts', 7, 'zed://ssh/ana@atlas:2222/home/mara/shop/src/a.ts:7'],
  ['goland', '', 'src/a&b.go', 7, 'jetbrains://goland/navigate/reference?project=shop&path=src%2Fa%26b.go:6'],
  ['idea', 'atlas', '', 0, 'jetbrains://idea/navigate/reference?project=shop'],
] as const)('%s on %s opens %s:%i', (name, host, path, line, want) => {
  editor.value = name
  editorHost.value = host
  expect(editorAddress('/home/mara/shop', path, line)).toBe(want)
})

const SCHEMES = [...EDITORS.slice(1).map((e) => `${e}:`), 'jetbrains:']
const CHOICES = EDITORS.slice(1).flatMap((name) => ['', 'atlas'].map((host) => [name, host] as const))

test.each(CHOICES)('%s on %s has no address for what is no file of the folder', (name, host) => {
  editor.value = name
  editorHost.value = host
  const paths = ['../a.ts', 'src/../../a.ts', '/etc/passwd', 'src//a.ts', 'javascript:alert(1)//x']
  paths.push('a\nb', 'a\0b', 'a:12', 'a:12:5', 'x.code-workspace', '\ud800')
  expect(paths.filter((path) => editorAddress('/home/mara/shop', path, 1) !== null)).toEqual([])
})

test.each(CHOICES)('%s on %s gets a hostile path as a path', (name, host) => {
  editor.value = name
  editorHost.value = host
  for (const path of [
    'a?windowId=_blank&x=1#f',
    '%2e%2e%2fpasswd',
    '--install-extension evil',
    '"><script>.ts',
    'a@b/c.ts',
    'a&path=/etc/passwd',
    'a;rm -rf ~.ts',
    '$(x).ts',
  ]) {
    const address = editorAddress('/home/mara/shop', path, 3)!
    expect(address).not.toMatch(/[\s"<>`;$]|\.\.\//)
    const url = new URL(address)
    expect(SCHEMES).toContain(url.protocol)
    expect(url.hash).toBe('')
    const project = url.searchParams.get('path')
    expect([...url.searchParams.keys()]).toEqual(project === null ? [] : ['project', 'path'])
    expect(project ?? decodeURIComponent(url.pathname)).toMatch(
      project === null ? /^(\/ssh-remote\+atlas|\/atlas)?\/home\/mara\/shop\// : /:2$/,
    )
    expect(project ?? decodeURIComponent(url.pathname)).toContain(project === null ? `${path}:3` : `${path}:2`)
  }
})

test('a host is no option and no address', () => {
  const hosts = ['atlas', 'ana@atlas', 'ana@10.0.0.7:22', 'a-b.example.org']
  const others = ['', '-oProxyCommand=x', 'a@-b', 'a b', 'a/b', 'a%2fb', 'a@b@c', 'a:b', 'a\nb', '[::1]']
  expect([...hosts, ...others].filter(isHost)).toEqual(hosts)
  localStorage.setItem('sayso:editor-host', '-oProxyCommand=x')
  dispatchEvent(new StorageEvent('storage', { key: 'sayso:editor-host', newValue: '-oProxyCommand=x' }))
  expect(editorHost.value).toBe('')
})

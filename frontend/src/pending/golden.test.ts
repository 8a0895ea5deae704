import { enableAutoUnmount } from '@vue/test-utils'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { nextTick } from 'vue'
import { arrive } from '@/testsetup'
import { PAYLOADS } from '@/testpayloads'
import type { FilePreview, Preview, Request, RiskMark } from '@/wsapi/messages.gen'
import { findings, segments } from './marks'
import { headings } from './plan'
import { answeredAll, armed, asked, button, dock, has, key, looked, newHour, NOW, off, previews, request } from './testdock'

// Every kind of card as somebody hears it who does not see it: roles, names and
// texts, in order. A change of these is a change of what people are told.

enableAutoUnmount(afterEach)
beforeEach(() => {
  localStorage.clear()
  previews.clear()
  asked.length = 0
  newHour()
  vi.useFakeTimers({ now: NOW })
})
afterEach(() => vi.useRealTimers())

const NOTHING: Preview = { level: 'low', rules: [] }
const file = (more: Partial<FilePreview>): Preview => ({
  ...NOTHING,
  file: { state: 'changes', failing: [], drifted: false, line: 0, before: '', after: '', crlf: false, no_newline_before: false, no_newline_after: false, ...more },
})
const command = (level: Preview['level'], marks: RiskMark[] = [], problem = ''): Preview => ({ ...NOTHING, level, command: { steps: [], marks, problem } })
const tool = (tool_name: string, tool_input: object, more: Partial<Request> = {}) => request('a', { tool_name, tool_input, ...more })
const lines = (n: number, text = 'echo') => Array.from({ length: n }, (_, i) => `${text} ${i + 1}`).join('\n')

/** What a screen reader is given, one line for each element that has a say. */
function heard(root: Element): string {
  const out: string[] = []
  const ROLES: Record<string, string> = { BUTTON: 'button', INPUT: 'field', TEXTAREA: 'textbox', SELECT: 'combobox', LI: 'listitem', H2: 'heading', INS: 'inserted', DEL: 'deleted', MARK: 'marked', SUMMARY: 'summary', DT: 'term', DD: 'definition', A: 'link' }
  const name = (el: Element) => el.getAttribute('aria-label') ?? ''
  const walk = (node: Node, depth: number) => {
    if (node.nodeType === Node.TEXT_NODE) {
      const text = (node.textContent ?? '').replace(/\s+/g, ' ').trim()
      if (text) out.push('  '.repeat(depth) + text)
      return
    }
    if (!(node instanceof HTMLElement)) return
    if (node.getAttribute('aria-hidden') === 'true' || node.style.display === 'none' || node.hidden) return
    const role = node.getAttribute('role') ?? ROLES[node.tagName]
    if (role) {
      const states = ['aria-disabled', 'aria-pressed', 'aria-expanded', 'aria-keyshortcuts'].flatMap((a) => (node.hasAttribute(a) ? [`${a.slice(5)}=${node.getAttribute(a)}`] : []))
      out.push('  '.repeat(depth) + `- ${role}${name(node) ? ` "${name(node)}"` : ''}${states.length > 0 ? ` [${states.join(' ')}]` : ''}`)
    }
    for (const child of node.childNodes) walk(child, depth + (role ? 1 : 0))
  }
  walk(root, 0)
  // The head of a long text, its end, and how much is between.
  return out.length <= 60 ? out.join('\n') : [...out.slice(0, 20), `… ${out.length - 40} more …`, ...out.slice(-20)].join('\n')
}

const KINDS: Record<string, [Request, Preview | null]> = {
  'a command': [tool('Bash', { command: 'go test ./...', description: 'Run the tests' }), command('low')],
  'a command that nothing is known of': [tool('Bash', { command: 'go test ./...' }), null],
  'a command of high risk': [tool('Bash', { command: 'cd x && rm -rf build' }), {
    ...command('high', [{ from: 8, to: 20, kind: 'delete_tree', level: 'high', reason: 'Removes.' }]),
    command: { problem: '', marks: [{ from: 8, to: 20, kind: 'delete_tree', level: 'high', reason: 'Removes.' }], steps: [{ from: 0, to: 4, text: 'cd x', depth: 0 }, { from: 8, to: 20, text: 'rm -rf build', depth: 0, cwd: '/w/x' }] },
    why: { permission_mode: 'default', reason: '', blocked_path: '', rules: [{ rule: 'Bash(cd:*)', behavior: 'allow', source: 'user' }], uncovered: ['rm -rf build'], smallest: ['Bash(rm -rf build)'] },
  }],
  'a command of 200 lines': [tool('Bash', { command: lines(200) }), command('low')],
  'a command with a here-document': [tool('Bash', { command: 'cat <<EOF\na\nEOF' }), command('low')],
  'a command with hidden characters': [tool('Bash', { command: 'ls \u202e# x' }), command('high', [{ from: 3, to: 4, kind: 'hidden', level: 'high', reason: 'Hidden.' }])],
  'a command that cannot be read': [tool('Bash', { command: 'ls (' }), command('medium', [], 'It is no command.')],
  'a command with a rule': [tool('Bash', { command: 'go test' }, { permission_suggestions: [{ type: 'addRules', behavior: 'allow', destination: 'localSettings', rules: [{ toolName: 'Bash', ruleContent: 'go test:*' }] }] }), {
    ...command('low'), rules: [{ suggestion: 0, rule: 'Bash(go test:*)', form: 'prefix', text: 'go test', level: 'high', kind: 'launcher', reason: 'Runs.', would_allow: ['go test -exec ./x ./...'] }],
  }],
  'a new file': [tool('Write', { file_path: '/w/a.txt', content: 'one\ntwo\n' }), file({ state: 'new', line: 1, after: 'one\ntwo\n' })],
  'a file over another': [tool('Write', { file_path: '/w/a.txt', content: 'one\n2\n' }), file({ line: 11, before: 'one\ntwo\n', after: 'one\n2\n' })],
  'a file outside': [tool('Write', { file_path: '/etc/x', content: 'one' }), { ...file({ state: 'outside' }), level: 'high' }],
  'a file of 1 MB': [tool('Write', { file_path: '/w/a.txt', content: 'x'.repeat(1 << 20) }), file({ state: 'large' })],
  'an edit': [tool('Edit', { file_path: '/w/a.txt', old_string: 'two', new_string: '2' }), file({ line: 7, before: 'one\ntwo\n', after: 'one\n2\n', crlf: true })],
  'an edit of a text that is not there': [tool('Edit', { file_path: '/w/a.txt', old_string: 'two', new_string: '2' }), file({ state: 'same', failing: [{ edit: 0, problem: 'not_found', found: 0 }] })],
  'an edit of a text that is there often': [tool('Edit', { file_path: '/w/a.txt', old_string: 'two', new_string: '2' }), file({ state: 'same', failing: [{ edit: 0, problem: 'many', found: 3 }] })],
  'an edit of a file that has changed': [tool('Edit', { file_path: '/w/a.txt', old_string: 'two', new_string: '2' }), file({ line: 1, before: 'two', after: '2', drifted: true, no_newline_before: true, no_newline_after: true })],
  'several edits': [tool('MultiEdit', { file_path: '/w/a.txt', edits: [{ old_string: 'a', new_string: 'b' }, { old_string: 'x', new_string: 'y' }] }), file({ line: 1, before: 'a\n', after: 'b\n', failing: [{ edit: 1, problem: 'not_found', found: 0 }] })],
  'a cell of a notebook': [tool('NotebookEdit', { notebook_path: '/w/a.ipynb', cell_id: 'c1', new_source: 'b' }), file({ line: 1, before: 'a', after: 'b' })],
  'a web page': [tool('WebFetch', { url: 'https://example.com/x', prompt: 'What is it?' }), { ...NOTHING, level: 'medium' }],
  'a tool of an MCP server': [tool('mcp__tickets__create', { title: 'A', labels: ['x'], urgent: true }), { ...NOTHING, level: 'medium' }],
  'a plan': [tool('ExitPlanMode', { plan: '# Plan\n\n1. Look\n2. Do' }), null],
  'a plan of 500 lines': [tool('ExitPlanMode', { plan: '# Plan\n\n' + Array.from({ length: 50 }, (_, i) => `## Part ${i + 1}\n\n${lines(8, 'Do')}`).join('\n\n') }), null],
}

describe('as it is heard', () => {
  test.each(Object.entries(KINDS))('%s', async (name, [r, preview]) => {
    // Each is another request: what was said of one is kept for its card.
    const id = name.replaceAll(' ', '-')
    if (preview) previews.set(id, preview)
    const d = dock([{ ...r, request_id: id, created_at: NOW / 1000 - 5 }])
    await armed()
    await vi.dynamicImportSettled()
    await answeredAll()
    await expect(heard(d.wrapper.find('[role=group]').element)).toMatchFileSnapshot(`./golden/${id}.txt`)
  })
})

test('nothing that somebody else wrote runs, wherever it is shown', async () => {
  const all = PAYLOADS.join('\n')
  const tools = new Map(Object.values(KINDS).map((kind) => [kind[0].tool_name, kind]))
  for (const [r, preview] of tools.values()) {
    if (preview?.file) Object.assign(preview.file, { before: all, after: all + '!' })
    const input = Object.fromEntries(Object.entries(r.tool_input as object).map(([k, v]) => [k, typeof v === 'string' ? all : v]))
    previews.set(r.tool_name, {
      ...(preview ?? NOTHING),
      rules: [{ suggestion: 0, rule: all, form: 'prefix', text: all, level: 'high', kind: 'launcher', reason: all, would_allow: [all] }],
      why: { permission_mode: all, reason: all, blocked_path: all, rules: [{ rule: all, behavior: 'ask', source: 'user' }], uncovered: [all], smallest: [all] },
    })
    const d = dock([{ ...r, request_id: r.tool_name, tool_input: input, description: all, decision_reason: all, permission_suggestions: [{ type: 'addRules', behavior: 'allow', rules: [{ toolName: 'Bash', ruleContent: all }] }] }])
    await armed()
    await answeredAll()
    expect(d.wrapper.element.ownerDocument.querySelectorAll('.card script, .card img, .card iframe, .card svg[onload], .card [onerror], .card [onfocus], .card object, .card embed, .card form[action]')).toHaveLength(0)
    d.wrapper.unmount()
  }
  expect((globalThis as { ran?: unknown }).ran).toBeUndefined()
}, 60_000)

describe('what can do much harm', () => {
  const red = () => {
    previews.set('a', command('high', [{ from: 0, to: 2, kind: 'delete_tree', level: 'high', reason: 'Removes.' }]))
    return dock([tool('Bash', { command: 'rm -rf a' })])
  }

  test('takes more than one press', async () => {
    const d = red()
    await armed()
    await button(d.wrapper, 'Approve').trigger('click')
    expect(d.answers).toEqual([])
    const field = d.wrapper.find('.red input')
    await field.setValue('rmm')
    await field.trigger('keydown', { key: 'Enter' })
    expect(d.answers).toEqual([])
    await field.setValue('rm')
    await field.trigger('keydown', { key: 'Enter' })
    expect(d.answers).toMatchObject([{ decision: 'allow' }])
  })

  test('or a key that is held, and not one that is let go', async () => {
    const d = red()
    await armed()
    await key(d.wrapper, 'y')
    vi.advanceTimersByTime(700)
    dispatchEvent(new KeyboardEvent('keyup', { key: 'y' }))
    vi.advanceTimersByTime(2_000)
    expect(d.answers).toEqual([])
    await key(d.wrapper, 'y')
    vi.advanceTimersByTime(800)
    expect(d.answers).toMatchObject([{ decision: 'allow' }])
  })

  test('a key held in another window ends with it', async () => {
    const d = red()
    await armed()
    await key(d.wrapper, 'y')
    dispatchEvent(new Event('blur'))
    vi.advanceTimersByTime(2_000)
    expect(d.answers).toEqual([])
  })

  test('an edit that makes it harmless is approved as any other', async () => {
    const d = red()
    await armed()
    await button(d.wrapper, 'Edit').trigger('click')
    previews.set('a', command('low'))
    await d.wrapper.find('textarea').setValue('ls')
    expect(off(d.wrapper, 'Approve')).toBe(true)
    await looked()
    expect(asked.at(-1)).toBe('POST /api/pending/a/preview {"tool_input":{"command":"ls"}}')
    await button(d.wrapper, 'Approve').trigger('click')
    expect(d.answers).toMatchObject([{ decision: 'allow', updated_input: { command: 'ls' } }])
  })
})

test('approving waits a moment for what the server says, and not for ever', async () => {
  vi.stubGlobal('fetch', ((was) => (path: string, init: RequestInit) => (path.endsWith('/preview') ? new Promise(() => {}) : was(path, init)))(fetch))
  const d = dock([tool('Bash', { command: 'ls' }, { request_id: 'waits' })])
  arrive()
  vi.advanceTimersByTime(600)
  await nextTick()
  expect(off(d.wrapper, 'Approve')).toBe(true)
  expect(has(d.wrapper, 'Deny')).toBe(true)
  vi.advanceTimersByTime(2_400)
  await nextTick()
  expect(off(d.wrapper, 'Approve')).toBe(false)
})

test('what comes into a card may move its end out of sight: it has to be seen again', async () => {
  let answer: (r: object) => void = () => {}
  vi.stubGlobal('fetch', ((was) => (path: string, init: RequestInit) => (path.endsWith('/moves/preview') ? new Promise((done) => (answer = done)) : was(path, init)))(fetch))
  const d = dock([tool('Write', { file_path: '/w/a', content: 'a' }, { request_id: 'moves' })])
  arrive()
  vi.advanceTimersByTime(600)
  answer(new globalThis.Response(JSON.stringify(file({ line: 1, before: lines(300), after: 'a' }))))
  await answeredAll()
  expect(d.wrapper.findAll('del')).toHaveLength(300)
  expect(off(d.wrapper, 'Approve')).toBe(true)
  arrive()
  await nextTick()
  expect(off(d.wrapper, 'Approve')).toBe(false)
})

test('marks cut a text into lines and levels', () => {
  const mark = (from: number, to: number, level: RiskMark['level']): RiskMark => ({ from, to, kind: 'delete', level, reason: '' })
  expect(segments('ab\ncd', [mark(1, 4, 'medium'), mark(3, 4, 'high')])).toEqual([
    [{ text: 'a', level: null }, { text: 'b', level: 'medium' }],
    [{ text: 'c', level: 'high' }, { text: 'd', level: null }],
  ])
  expect(segments('a\n', [])).toEqual([[{ text: 'a', level: null }]])
  expect(segments('', [])).toEqual([[]])
  // Said once, the worst first, and what is low only when nothing is worse.
  expect(findings('abcd', [mark(0, 1, 'low'), mark(1, 2, 'medium'), mark(2, 3, 'high'), mark(2, 3, 'high')]).map((f) => f.text)).toEqual(['c', 'b'])
  expect(findings('abcd', [mark(0, 1, 'low')]).map((f) => f.text)).toEqual(['a'])
})

test('headings of a plan are those that are shown as such', () => {
  expect(headings('# A\n```\n# no\n```\n## `B` *c*\ntext # no\n#no\n~~~\n# no')).toEqual([{ level: 1, text: 'A' }, { level: 2, text: 'B c' }])
})

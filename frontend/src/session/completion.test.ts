import { expect, test } from 'vitest'
import type { Catalog } from '@/wire/messages.gen'
import { commands, mentions, tokenAt } from './completion'

const catalog: Catalog = {
  running: true,
  cli_version: '2.1.329',
  commands: [
    { name: 'ship', description: 'Ship it (user)', argument_hint: '[version]', aliases: [], builtin: false },
    { name: 'compact', description: 'Free up context', argument_hint: '', aliases: [], builtin: true },
    { name: 'code-review', description: 'Review the diff', argument_hint: '', aliases: ['review'], builtin: true },
  ],
  agents: [{ name: 'reviewer', description: 'Reviews code' }],
  models: [],
}

test.each([
  ['Look at @lim', { kind: '@', from: 8, query: 'lim', first: false }],
  ['@', { kind: '@', from: 0, query: '', first: true }],
  ['see @"my fi', { kind: '@', from: 4, query: 'my fi', first: false }],
  ['/re', { kind: '/', from: 0, query: 're', first: true }],
  ['  /re', { kind: '/', from: 2, query: 're', first: true }],
  ['and then /re', { kind: '/', from: 9, query: 're', first: false }],
  ['one\n/re', { kind: '/', from: 4, query: 're', first: false }],
  ['mail a@b', null],
  ['either/or', null],
  ['/usr/bin', null],
  ['@"a" ', null],
  ['@a b', null],
])('%s ends with %o', (text, want) => {
  expect(tokenAt(text, text.length)).toEqual(want && { ...want, to: text.length })
})

test('only the text near the caret is examined', () => {
  const text = `${'x '.repeat(300_000)}@lim`
  expect(tokenAt(text, text.length)).toMatchObject({ from: 600_000, query: 'lim' })
})

test('files are quoted where necessary, and subagents are named as Claude Code names them', () => {
  const texts = (query: string, paths: string[], offered: Catalog | null = catalog) =>
    mentions(query, paths, offered).map((g) => [g.title, ...g.options.map((o) => o.text)])
  expect(texts('re', ['src/re.go', 'my re.go'])).toEqual([
    ['files', '@src/re.go ', '@"my re.go" '],
    ['agents', '@agent-reviewer '],
  ])
  expect(texts('agent-re', [])).toEqual([['agents', '@agent-reviewer ']])
  expect(texts('zzz', [])).toEqual([])
  expect(
    texts(
      'a',
      Array.from({ length: 100 }, (_, i) => `a${i}`),
      null,
    )[0],
  ).toHaveLength(11)
})

test('commands are found by name, alias and description, and only skills within a message', () => {
  const names = (text: string, offered: Catalog = catalog) =>
    commands(tokenAt(text, text.length)!, offered).map((g) => [g.title, ...g.options.map((o) => o.label)])
  expect(names('/')).toEqual([
    ['skills', '/ship'],
    ['commands', '/compact', '/code-review'],
  ])
  expect(names('/rev')).toEqual([['commands', '/code-review']])
  expect(names('/context')).toEqual([['commands', '/compact']])
  expect(names('/none')).toEqual([])
  expect(names('then /')).toEqual([['skills', '/ship']])
  // An older CLI does not tell which are its own.
  const older = { ...catalog, commands: catalog.commands.map((c) => ({ ...c, builtin: false })) }
  expect(names('/', older)).toEqual([['commands', '/ship', '/compact', '/code-review']])
  expect(names('then /', older)).toEqual([])
})

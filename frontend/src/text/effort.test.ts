import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { runsOf, withoutEnd } from '@/session/items/ansi'
import { toolLine } from '@/session/toolline'
import { diffOf } from './diff'
import { MAX_LINES } from './limitLines'
import { escapes, limitMarks, hiddenCount, pieces, shown } from './hidden'
import { findings, segments } from '@/pending/marks'
import { headings } from '@/pending/plan'
import { lineOf } from '@/pending/title'
import { stepsOf } from '@/testregexp'
import { isTried } from '@/testsetup'
import { effort, MAX_EFFORT } from './effort'
import { blocks, Growing, inert } from './markdown'

// Nothing here looks at the clock: the machine may be busy.

// What is slow for some reader of markdown, or of terminals.
const UNITS = [
  '[',
  '![',
  '[a](',
  '[a](<',
  '[a](b "',
  '[a][',
  '[`',
  '[``a',
  '*a ',
  '*a',
  '**a_',
  'a_a*',
  '~a~~',
  '**x ',
  '_a ',
  'a**',
  '`',
  '`` ',
  '<',
  '<a ',
  'x<!--',
  '<!--',
  '<?',
  '<a b="',
  'x<![CDATA[',
  '</div ',
  '<pre>\n\n',
  'a <pre',
  '>',
  '> ',
  '- ',
  '* ',
  '1. ',
  '- > ',
  '- a\n',
  '- a\n\n',
  '> a\n',
  '> a\n\n',
  '> a\nb\n',
  '- [ ] a\n',
  '|',
  '|a',
  '|-',
  '|a|\n',
  'a\n',
  'a  \n',
  'a\\\n',
  '\\',
  '\\[',
  '&',
  '&a;',
  'http://',
  'www.',
  'www.a)',
  'a@',
  'a.',
  ')',
  '(',
  '```\n',
  '~~~~a\n',
  '    a\n\n',
  '[a]: b\n',
  '[a]:',
  '[a]: b "x\n',
  '[a]: <',
  '#',
  '# ',
  ' #',
  '-',
  '=',
  '_',
  '***',
  '\t',
  ' ',
  '\n',
  ' \n',
  'a ',
  'a,',
  '😀*',
  '\u001b[',
  '\u001b]',
  '\u001b[0;',
  '\u001b[1m',
  '\u200b',
  '\u202ea',
  '\r',
  '\r\n',
  'mcp__',
  '__a',
  '`a',
  '{"a":',
  '$',
  '$a ',
  'a$b',
  '$a$ ',
  '$$\n',
  '$$ a\n',
  '\n$$a',
]
const HEADS = ['[', '# a', 'www.a', '| a |\n|---|\n', '\u001b', 'mcp__a', '> ']
const ENDS = ['b', '@', '](b)', '\n\n[a]: b', '\n=']
const MEGABYTE = 1 << 20

const made = (size: number) =>
  UNITS.flatMap((unit, row) => {
    const body = unit.repeat(Math.ceil(size / unit.length)).slice(0, size)
    return [body, ...[...HEADS.map((h) => h + body), ...ENDS.map((e) => body + e)].filter((_, i) => isTried(row, i))]
  })

const pieceCount = (text: string) =>
  blocks(text).reduce((n, b) => n + ('html' in b ? String(b.html).split('<').length : 1), 0)

describe('a text that is made to be slow', () => {
  test('a megabyte of Markdown takes bounded effort, and few elements', () => {
    const slow = UNITS.filter((unit) => {
      const text = unit.repeat(Math.ceil(MEGABYTE / unit.length))
      return (
        pieceCount(text) > 10 ||
        effort() > 1.5 * MAX_EFFORT ||
        inert(text).querySelectorAll('*').length > 10 ||
        new Growing().take(text).length > 10
      )
    })
    expect(slow).toEqual([])
  })

  test('text that takes too much effort is shown as written', () => {
    for (const text of [
      '**a_'.repeat(10_000),
      '> '.repeat(3_000) + 'a',
      '- '.repeat(3_000) + 'a',
      'a' + ' '.repeat(2_000) + 'b',
    ]) {
      expect(blocks(text)).toEqual([{ code: text, lang: '' }])
      expect(inert(text).textContent).toBe(text)
      expect(inert(text, 'line').textContent).toBe(text)
    }
  })

  test('a growing text is not parsed repeatedly', () => {
    const reader = new Growing()
    const text = 'First.\n\nSecond.\n\nThird.\n\n' + '**a_'.repeat(10_000)
    reader.take(text.slice(0, 30_000))
    blocks('Other.')
    const before = effort()
    const slow = reader.take(text).at(-1)!
    expect(effort()).toBe(before) // nothing was read
    expect('code' in slow && text.endsWith(slow.code) && slow.code.endsWith('**a_'.repeat(10_000))).toBe(true)
    expect(reader.take('Another.')).toEqual(blocks('Another.'))
  })

  test.each([
    '../SECURITY.md',
    '../ARCHITECTURE.md',
    '../docs/integrating/mcp.md',
    '../docs/contributing/claude-cli.md',
  ])('%s is not slow', (file) => {
    const text = readFileSync(file, 'utf8')
    expect(blocks(text).length).toBeGreaterThan(20)
    expect(effort()).toBeLessThan(MAX_EFFORT / 3)
  })
})

const request = (over: object) =>
  ({ request_type: 'tool_approval', tool_name: 'X', tool_input: {}, title: null, ...over }) as never
const asked = (question: string) =>
  request({
    request_type: 'ask_user_question',
    source: 'ask_user_question',
    form: { title: '', questions: [{ question }] },
  })

// What reads a text of Claude's with expressions of ours.
const READERS: Record<string, (text: string) => unknown> = {
  'output of a program': (text) => runsOf(withoutEnd(text)),
  'hidden characters': (text) => [pieces(text), pieces(text, true), hiddenCount(text), shown(text), limitMarks(text)],
  'a reason of the CLI': escapes,
  'the headings of a plan': headings,
  'the line of a question': (text) => lineOf(asked(text)),
  'the name of a tool': (text) => [lineOf(request({ tool_name: text })), toolLine(text, {}, '/')],
  'the marks of a command': (text) => {
    const marks = Array.from(
      { length: 5 },
      () => ({ from: 0, to: text.length, kind: 'unknown', level: 'high', reason: 'x' }) as never,
    )
    return [segments(text, marks), findings(text, marks)]
  },
}

describe('regular expressions', () => {
  test.each(Object.keys(READERS))('%s: twice the text takes about twice the steps', (name) => {
    const [small, large] = [made(150), made(300)]
    const slow = small.filter((text, i) => {
      const few = stepsOf(() => READERS[name]!(text))
      return stepsOf(() => READERS[name]!(large[i]!)) > 2.6 * few + 5_000
    })
    expect(slow).toEqual([])
  })

  test('the step counter finds slow expressions', () => {
    expect(stepsOf(() => /\n+$/.test('\n'.repeat(1_000) + 'a'))).toBeGreaterThan(400_000)
    expect(stepsOf(() => /(a|aa)+$/.test('a'.repeat(24) + 'b'), 1e9)).toBeGreaterThan(100_000)
    expect(stepsOf(() => 'a b c'.replace(/\s+/g, ' '))).toBeLessThan(50)
  })

  test('Markdown takes few more steps than the counted effort', () => {
    const slow = UNITS.filter((unit) => {
      const text = unit.repeat(Math.ceil(200 / unit.length))
      return stepsOf(() => blocks(text)) > 200 * effort() + 200_000
    })
    expect(slow).toEqual([])
  })
})

describe('a megabyte creates few elements', () => {
  const lines = 'a\n'.repeat(MEGABYTE / 2)

  test('with many lines', () => {
    expect(segments(lines, [])).toHaveLength(MAX_LINES)
    expect(diffOf('', lines).lines).toHaveLength(1)
    expect(diffOf('', lines).added).toBe(MEGABYTE / 2)
    const other = Array.from({ length: MEGABYTE / 4 }, (_, i) => (i % 2 ? 'a' : `b${i}`)).join('\n')
    expect(diffOf(lines, other).lines.length).toBeLessThanOrEqual(MAX_LINES)
  })

  test('with hidden characters, each still readable', () => {
    const text = '\u200b\u202e'.repeat(MEGABYTE / 2)
    const found = pieces(text)
    expect(found.length).toBeLessThan(5_000)
    expect(hiddenCount(text)).toBe(MEGABYTE)
    expect(found.at(-1)!.text).toMatch(/^\[(ZWSP|RLO)\]\[/)
    expect(limitMarks(text)).not.toMatch(/[\u200b\u202e]/)
  })

  test('with colors', () => {
    expect(runsOf('\u001b[31ma\u001b[32mb'.repeat(50_000)).length).toBeLessThan(700)
  })
})

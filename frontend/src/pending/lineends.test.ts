import { mount } from '@vue/test-utils'
import { describe, expect, test } from 'vitest'
import CodeFile from '@/session/items/CodeFile.vue'
import CodeText from './CodeText.vue'
import DiffText from './DiffText.vue'
import DiskDiff from './DiskDiff.vue'
import { withText } from './edit'
import { endsNote } from './endsnote'
import { lineEndsOf } from './lineends'
import { file } from '@/testcards'
import WordDiff from './WordDiff.vue'

test.each([
  ['', ''],
  ['a', ''],
  ['a\rb', ''],
  ['a\n', 'lf'],
  ['a\r\nb', 'crlf'],
  ['a\r\nb\n', 'mixed'],
  ['a\r\r\n', 'crlf'],
])('%j has the line endings %j', (text, ends) => {
  expect(lineEndsOf(text)).toBe(ends)
})

test.each([
  ['lf', 'lf', null],
  ['', '', null],
  ['', 'lf', null],
  ['crlf', '', null],
  ['crlf', 'crlf', 'CRLF line endings (unchanged)'],
  ['', 'crlf', 'CRLF line endings'],
  ['mixed', 'mixed', 'Mixed line endings'],
  ['crlf', 'lf', 'Line endings change from CRLF to LF'],
  ['lf', 'crlf', 'Line endings change from LF to CRLF'],
  ['mixed', 'crlf', 'Line endings change from mixed to CRLF'],
] as const)('a change from %j to %j is described as %j', (before, after, said) => {
  expect(endsNote(before, after)?.text ?? null).toBe(said)
})

describe('line endings are described once, in the header, and are not characters in each line', () => {
  const clean = (text: string) => {
    expect(text).not.toContain('CR\n')
    expect(text).not.toContain('hidden character')
  }

  test('of an edited text', () => {
    const it = mount(WordDiff, { props: { before: 'one\r\ntwo\r\n', after: 'one\r\n2\r\n' } })
    expect(it.get('.ends').text()).toBe('CRLF line endings (unchanged)')
    expect(it.findAll('ins, del').map((e) => e.text())).toEqual(['removed: two', 'added: 2'])
    expect(it.findAll('.hidden-character')).toEqual([])
    clean(it.text())
  })

  test('of a text from which they were removed', () => {
    const it = mount(WordDiff, { props: { before: 'one\r\ntwo\r\n', after: 'one\n2\n' } })
    expect(it.get('.ends').text()).toBe('Line endings change from CRLF to LF')
    expect(it.findAll('.hidden-character')).toEqual([])
  })

  test('of two texts with mixed endings, each where it is', () => {
    const it = mount(WordDiff, { props: { before: 'one\r\ntwo\n', after: 'one\ntwo\r\n' } })
    expect(it.findAll('.hidden-character').length).toBe(2)
  })

  test('of an edit as requested', () => {
    const it = mount(DiffText, { props: { before: 'one\r\ntwo\r\n', after: 'one\r\n2\r\n' } })
    expect(it.get('.ends').text()).toBe('CRLF line endings (unchanged)')
    expect(it.findAll('.hidden-character')).toEqual([])
    clean(it.text())
  })

  test('of a new file', () => {
    const it = mount(CodeText, { props: { text: 'one\r\ntwo\r\n', path: '/w/a.txt' } })
    expect(it.get('.ends').text()).toBe('CRLF line endings')
    expect(it.findAll('.hidden-character')).toEqual([])
    expect(it.findAll('code').map((l) => l.text())).toEqual(['one', 'two'])
  })

  test('of a file in the transcript, which is copied unchanged', () => {
    const it = mount(CodeFile, { props: { path: '/w/a.ts', content: 'one\r\ntwo\r\n', cwd: '/w' } })
    expect(it.text()).toContain('CRLF line endings')
    expect(it.findAll('.hidden-character')).toEqual([])
    expect(it.findComponent({ name: 'CopyButton' }).props('text')).toBe('one\r\ntwo\r\n')
  })

  test('but in a command they are visible characters', () => {
    expect(mount(CodeText, { props: { text: 'ls\r\n' } }).findAll('.hidden-character').length).toBe(1)
  })

  test.each([
    [
      { line_ends_before: 'crlf', line_ends_after: 'crlf', before: 'a\n', after: 'b\n' },
      'CRLF line endings (unchanged)',
      false,
    ],
    [
      { line_ends_before: 'crlf', line_ends_after: 'lf', before: 'a\n', after: 'b\n' },
      'Line endings change from CRLF to LF',
      false,
    ],
    [{ line_ends_before: 'crlf', line_ends_after: 'lf' }, 'Line endings change from CRLF to LF', true],
  ] as const)('of the file on disk: %j', (more, said, only) => {
    const it = mount(DiskDiff, { props: { file: file({ line: 1, ...more }).file! } })
    expect(it.get('.ends').text()).toBe(said)
    expect(it.text().includes('Only the line endings change.')).toBe(only)
  })
})

describe('an edit keeps the line endings', () => {
  test('restores CR LF after a text field that drops every CR', () => {
    expect(withText('Write', { content: 'a\r\nb\r\n' }, 'a\nB\n')).toMatchObject({
      changed: true,
      input: { content: 'a\r\nB\r\n' },
    })
    expect(withText('Write', { content: 'a\r\nb\r\n' }, 'a\nb\n')).toMatchObject({
      changed: false,
      input: { content: 'a\r\nb\r\n' },
    })
  })

  test('leaves mixed or missing line endings as written', () => {
    for (const [was, is] of [
      ['a\nb\n', 'a\nB\n'],
      ['a\r\nb\n', 'a\nB\n'],
      ['a\r\nb\r\n', 'a\r\nB\r\nc\r\n'],
      ['a\r\nb', 'c'],
      ['a\r\nb\r\n', 'x\r\ny\n'],
    ] as const) {
      expect(withText('Write', { content: was }, is)).toMatchObject({ input: { content: is } })
    }
  })
})

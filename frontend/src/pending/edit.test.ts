// @vitest-environment node
import { describe, expect, test } from 'vitest'
import { descriptionOf, editableText, withText } from './edit'

describe('editing an input', () => {
  test('edits a command as text and leaves the rest', () => {
    const input = { command: 'ls', timeout: 5 }
    expect(editableText('Bash', input)).toBe('ls')
    expect(withText('Bash', input, 'ls -l')).toEqual({
      ok: true,
      changed: true,
      input: { command: 'ls -l', timeout: 5 },
    })
  })

  test('treats unchanged text as no edit', () => {
    expect(withText('Bash', { command: 'ls' }, 'ls')).toMatchObject({ ok: true, changed: false })
    const input = { url: 'x' }
    expect(withText('WebFetch', input, editableText('WebFetch', input))).toMatchObject({ ok: true, changed: false })
  })

  test('rejects an empty command, but not an empty file', () => {
    expect(withText('Bash', { command: 'ls' }, ' ')).toMatchObject({ ok: false })
    expect(withText('Write', { file_path: 'a', content: 'x' }, '')).toMatchObject({ ok: true, changed: true })
  })

  test('edits all other tools as JSON', () => {
    expect(withText('WebFetch', { url: 'x' }, '{"url":"y"}')).toEqual({ ok: true, changed: true, input: { url: 'y' } })
  })

  test('names the line of a syntax error', () => {
    expect(withText('WebFetch', { url: 'x' }, '{\n "url": "y"\n oops')).toMatchObject({ ok: false, line: 3 })
  })

  test('accepts only an object as an input', () => {
    for (const text of ['[]', '1', 'null', '"x"']) expect(withText('X', {}, text)).toMatchObject({ ok: false })
  })

  test('falls back to JSON for an unexpected input of a known tool', () => {
    expect(editableText('Bash', { cmd: 'ls' })).toBe('{\n  "cmd": "ls"\n}')
  })
})

test('shows a description only if the input does not', () => {
  expect(descriptionOf({ description: 'Run the tests' }, { command: 'make test' })).toBe('Run the tests')
  expect(descriptionOf({ description: 'Run the tests' }, { description: 'Run the tests' })).toBe('')
  expect(descriptionOf({ description: 'a.go' }, { file_path: '/w/a.go' })).toBe('')
  expect(descriptionOf({ description: null }, {})).toBe('')
})

// @vitest-environment node
import { describe, expect, test } from 'vitest'
import { descriptionOf, editableText, withText } from './edit'

describe('editing an input', () => {
  test('a command is edited as text and the rest stays', () => {
    const input = { command: 'ls', timeout: 5 }
    expect(editableText('Bash', input)).toBe('ls')
    expect(withText('Bash', input, 'ls -l')).toEqual({
      ok: true,
      changed: true,
      input: { command: 'ls -l', timeout: 5 },
    })
  })

  test('an unchanged text is no edit', () => {
    expect(withText('Bash', { command: 'ls' }, 'ls')).toMatchObject({ ok: true, changed: false })
    const input = { url: 'x' }
    expect(withText('WebFetch', input, editableText('WebFetch', input))).toMatchObject({ ok: true, changed: false })
  })

  test('an empty command cannot be approved, an empty file can', () => {
    expect(withText('Bash', { command: 'ls' }, ' ')).toMatchObject({ ok: false })
    expect(withText('Write', { file_path: 'a', content: 'x' }, '')).toMatchObject({ ok: true, changed: true })
  })

  test('all other tools are edited as JSON', () => {
    expect(withText('WebFetch', { url: 'x' }, '{"url":"y"}')).toEqual({ ok: true, changed: true, input: { url: 'y' } })
  })

  test('the line of a mistake is named', () => {
    expect(withText('WebFetch', { url: 'x' }, '{\n "url": "y"\n oops')).toMatchObject({ ok: false, line: 3 })
  })

  test('only an object is an input', () => {
    for (const text of ['[]', '1', 'null', '"x"']) expect(withText('X', {}, text)).toMatchObject({ ok: false })
  })

  test('a known tool with an unknown input falls back to JSON', () => {
    expect(editableText('Bash', { cmd: 'ls' })).toBe('{\n  "cmd": "ls"\n}')
  })
})

test('a description is given only where the input does not show it', () => {
  expect(descriptionOf({ description: 'Run the tests' }, { command: 'make test' })).toBe('Run the tests')
  expect(descriptionOf({ description: 'Run the tests' }, { description: 'Run the tests' })).toBe('')
  expect(descriptionOf({ description: 'a.go' }, { file_path: '/w/a.go' })).toBe('')
  expect(descriptionOf({ description: null }, {})).toBe('')
})

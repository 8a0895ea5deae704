import { describe, expect, test } from 'vitest'
import { PAYLOADS } from '@/testpayloads'
import { lineEndOf, openEditor } from './editor'

test.each([
  ['', '\n'],
  ['a\nb', '\n'],
  ['a\r\nb\r\n', '\r\n'],
  ['a\r\nb\n', '\n'],
  ['a\rb\r\n', '\n'],
  ['a\rb', '\n'],
])('the lines of %j end with %j', (text, end) => {
  expect(lineEndOf(text)).toBe(end)
})

describe('an editor', () => {
  const open = (text: string) => {
    const root = document.createElement('div').attachShadow({ mode: 'open' })
    return { root, editor: openEditor(root, text, 'Content', () => {}) }
  }

  test.each(['', 'a', 'a\nb\n', 'a\r\nb\r\n', 'a\r\nb\nc\rd', '\ufeffa\u202eb\u0000', 'x'.repeat(10_000)])(
    'returns %j unchanged',
    (text) => {
      const { editor } = open(text)
      expect(editor.text()).toBe(text)
      editor.replace(text + '!')
      expect(editor.text()).toBe(text + '!')
      editor.destroy()
    },
  )

  test.each(PAYLOADS)('shows %j as text', (payload) => {
    const { root, editor } = open(payload)
    const content = root.querySelector('.cm-content')!
    expect(
      [...content.querySelectorAll('*')]
        .filter((el) => !['DIV', 'SPAN', 'BR', 'IMG'].includes(el.tagName) || el.hasAttribute('src'))
        .map((el) => el.outerHTML),
    ).toEqual([])
    expect(editor.text()).toBe(payload)
    expect((globalThis as { ran?: unknown }).ran).toBeUndefined()
    editor.destroy()
  })

  test('has a name, and marks invisible characters', () => {
    const { root, editor } = open('ls \u202e# x')
    expect(root.querySelector('[role=textbox]')?.getAttribute('aria-label')).toBe('Content')
    expect(root.querySelector('.hidden')?.textContent).toBe('RLO')
    editor.destroy()
  })
})

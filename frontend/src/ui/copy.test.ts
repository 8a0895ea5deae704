import { afterEach, expect, test, vi } from 'vitest'
import { copy } from './copy'

afterEach(() => vi.unstubAllGlobals())

test('the clipboard gets the text', async () => {
  const writeText = vi.fn<(text: string) => Promise<void>>().mockResolvedValue(undefined)
  vi.stubGlobal('navigator', { clipboard: { writeText } })
  expect(await copy('ls')).toBe(true)
  expect(writeText).toHaveBeenCalledWith('ls')
})

test('without clipboard access the text is selected and copied, and no element is left', async () => {
  vi.stubGlobal('navigator', {})
  const field = document.body.appendChild(document.createElement('input'))
  field.focus()
  let selected = ''
  document.execCommand = () => {
    selected = (document.activeElement as HTMLTextAreaElement).value
    return true
  }
  expect(await copy('ls -l')).toBe(true)
  expect(selected).toBe('ls -l')
  expect(document.querySelector('textarea')).toBeNull()
  expect(document.activeElement).toBe(field)
})

import { mount } from '@vue/test-utils'
import { expect, test } from 'vitest'
import Attach from './Attach.vue'

function dragged(what: string, types: string[]) {
  const ev = new Event(what, { bubbles: true, cancelable: true })
  return Object.assign(ev, { dataTransfer: { types, files: [], dropEffect: 'copy' } })
}

test('a file that is dropped beside the field does not take the place of the page', () => {
  const attach = mount(Attach, { props: { modelValue: [], target: null } })
  for (const what of ['dragover', 'drop']) {
    const file = dragged(what, ['Files'])
    document.body.dispatchEvent(file)
    expect([what, file.defaultPrevented]).toEqual([what, true])
    const text = dragged(what, ['text/plain'])
    document.body.dispatchEvent(text)
    expect([what, text.defaultPrevented]).toEqual([what, false])
  }
  attach.unmount()
  const late = dragged('drop', ['Files'])
  document.body.dispatchEvent(late)
  expect(late.defaultPrevented).toBe(false)
})

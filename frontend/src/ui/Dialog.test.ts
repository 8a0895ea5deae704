import { mount } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'
import Dialog from './Dialog.vue'

test('content taller than the screen starts at its top', () => {
  const modal = vi.spyOn(HTMLDialogElement.prototype, 'showModal').mockImplementation(function (
    this: HTMLDialogElement,
  ) {
    this.open = true
    // As a browser does: the first control has the focus, and is scrolled to.
    this.querySelector('button')!.focus()
    this.scrollTop = 500
  })
  const dialog = mount(Dialog, {
    props: { title: 'Keys' },
    slots: { default: '<p>long</p><button>Close</button>' },
    attachTo: document.body,
  })
  expect(dialog.element.scrollTop).toBe(0)
  expect(document.activeElement?.textContent).toBe('Keys')
  modal.mockRestore()
  dialog.unmount()
})

test('when the content fits, the first control has the focus', () => {
  const modal = vi.spyOn(HTMLDialogElement.prototype, 'showModal').mockImplementation(function (
    this: HTMLDialogElement,
  ) {
    this.open = true
    this.querySelector('button')!.focus()
  })
  const dialog = mount(Dialog, {
    props: { title: 'Keys' },
    slots: { default: '<button>Close</button>' },
    attachTo: document.body,
  })
  expect(document.activeElement?.textContent).toBe('Close')
  modal.mockRestore()
  dialog.unmount()
})

test('a tall dialog can be closed from its top too', async () => {
  const modal = vi.spyOn(HTMLDialogElement.prototype, 'showModal').mockImplementation(() => {})
  const dialog = mount(Dialog, { props: { title: 'Account', closable: true } })
  await dialog.find('button[aria-label="Close"]').trigger('click')
  expect(dialog.emitted('close')).toHaveLength(1)
  modal.mockRestore()
})

import { flushPromises, mount } from '@vue/test-utils'
import { expect, test, vi } from 'vitest'
import type { AttachmentInfo } from '@/wire/messages.gen'
import Attach from './Attach.vue'
import * as attachments from './attachments'

function dragged(what: string, types: string[]) {
  const ev = new Event(what, { bubbles: true, cancelable: true })
  return Object.assign(ev, { dataTransfer: { types, files: [], dropEffect: 'copy' } })
}

test('a file that is dropped outside the field does not replace the page', () => {
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

test('uploads are limited to the number that the server accepts from a person at once', async () => {
  const sent: { name: string; arrive: () => void; stop: AbortSignal }[] = []
  vi.spyOn(attachments, 'upload').mockImplementation(
    (file, _, stop) =>
      new Promise((resolve, reject) => {
        stop.addEventListener('abort', () => reject(stop.reason))
        sent.push({
          name: file.name,
          stop,
          arrive: () =>
            resolve({ attachment_id: file.name, name: file.name, media_type: 'text/plain', size: 1 } as AttachmentInfo),
        })
      }),
  )
  const kept: AttachmentInfo[] = []
  const attach = mount(Attach, {
    props: {
      modelValue: kept,
      target: document.body,
      'onUpdate:modelValue': (now: AttachmentInfo[]) => void attach.setProps({ modelValue: now }),
    },
  })
  const drop = Object.assign(new Event('drop', { bubbles: true, cancelable: true }), {
    dataTransfer: { types: ['Files'], files: ['a', 'b', 'c', 'd', 'e'].map((name) => new File(['x'], name)) },
  })
  document.body.dispatchEvent(drop)
  await flushPromises()
  expect(sent.map((s) => s.name)).toEqual(['a', 'b'])
  // One that is taken back before its turn is never sent.
  await attach
    .findAll('button')
    .find((b) => b.attributes('aria-label')?.endsWith(' c'))!
    .trigger('click')
  sent[0]!.arrive()
  await flushPromises()
  expect(sent.map((s) => s.name)).toEqual(['a', 'b', 'd'])
  for (const i of [2, 1, 3]) {
    sent[i]!.arrive()
    await flushPromises()
  }
  expect(
    attach
      .props('modelValue')
      .map((a) => a.name)
      .toSorted(),
  ).toEqual(['a', 'b', 'd', 'e'])
  attach.unmount()
})

test('a long pasted text becomes a file, and a short one stays text', async () => {
  const sent = vi
    .spyOn(attachments, 'upload')
    .mockResolvedValue({ attachment_id: 'a', name: 'a', media_type: 'text/plain', size: 1 })
  sent.mockClear()
  const attach = mount(Attach, { props: { modelValue: [], target: document.body } })
  const paste = (text: string) => {
    const ev = Object.assign(new Event('paste', { bubbles: true, cancelable: true }), {
      clipboardData: { types: ['text/plain'], files: [], getData: () => text },
    })
    document.body.dispatchEvent(ev)
    return ev.defaultPrevented
  }
  expect(paste('a few words')).toBe(false)
  expect(paste('x'.repeat(10_001))).toBe(true)
  await flushPromises()
  expect(sent).toHaveBeenCalledTimes(1)
  const file = sent.mock.calls[0]![0]
  expect([file.name, file.size, file.type]).toEqual(['Pasted text.txt', 10_001, 'text/plain'])
  attach.unmount()
})

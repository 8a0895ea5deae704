import { flushPromises, mount } from '@vue/test-utils'
import { afterEach, expect, test, vi } from 'vitest'
import Queue from './Queue.vue'

afterEach(() => vi.unstubAllGlobals())

test('an edited message returns to the composer, even if the list is gone before the response', async () => {
  const message = { message_id: 'm', text: 'Later.', attachments: [], by: 'Ada', created_at: 1 }
  let answer = () => {}
  vi.stubGlobal(
    'fetch',
    vi.fn((_: string, init: RequestInit) =>
      init.method === 'DELETE'
        ? new Promise<Response>((resolve) => (answer = () => resolve(new Response(null, { status: 204 }))))
        : Promise.resolve(new Response(JSON.stringify({ messages: [message] }))),
    ),
  )
  const restore = vi.fn<(text: string, files: unknown[]) => void>()
  const queue = mount(Queue, {
    props: { session: { session_id: 's', queued_messages: 1 } as never, readonly: false, restore },
  })
  await flushPromises()
  await queue.findAll('button')[0]!.trigger('click')
  // The state says that nothing waits any more.
  queue.unmount()
  answer()
  await flushPromises()
  expect(restore).toHaveBeenCalledWith('Later.', [])
})

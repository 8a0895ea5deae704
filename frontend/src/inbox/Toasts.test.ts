// @vitest-environment jsdom
import { mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, expect, test } from 'vitest'
import { defineComponent, h, nextTick } from 'vue'
import { useSessions } from '@/state/sessions'
import { golden } from '@/testframes'
import { PAYLOADS } from '@/testpayloads'
import { portKey, type Port } from '@/connection/port'
import type { ProcessState } from '@/wire/messages.gen'
import { setMedia } from '@/testsetup'
import { BREAKPOINTS } from '@/ui/breakpoints'
import Toasts from './Toasts.vue'
import { closed, loadedAt } from './toasts'

const Link = defineComponent({
  props: { to: { type: Object, required: true } },
  setup:
    (_, { slots }) =>
    () =>
      h('a', { href: '#' }, slots['default']?.()),
})
const noticed: string[] = []
const port = { noticed: (id: string) => noticed.push(id) } as unknown as Port
const context = { now: 0, commandOf: () => undefined }
const asking = golden<ProcessState>('process_state.tool_approval')
const [request] = asking.pending_requests
let version = 100

/** A session in which these requests wait. */
function wait(session: string, title: string, ids: string[], at = loadedAt + 60) {
  useSessions().apply(
    [
      {
        ...asking,
        version: ++version,
        session_id: session,
        title,
        pending_requests: ids.map((id, i) => ({ ...request!, request_id: id, created_at: at + i })),
      },
    ],
    context,
  )
}
const tell = async (ids: string[], more = 0) => {
  useSessions().apply([{ type: 'toasts', request_ids: ids, ...(more ? { more } : {}) }], context)
  await nextTick()
}

beforeEach(() => {
  noticed.length = 0
  setMedia(BREAKPOINTS.narrow, false)
  setActivePinia(createPinia())
  closed.value = new Set()
})

function show() {
  return mount(Toasts, {
    attachTo: document.body,
    global: { stubs: { RouterLink: Link }, provide: { [portKey as symbol]: port } },
  })
}
type Shown = ReturnType<typeof show>
const titles = (it: Shown) => it.findAll('li strong').map((s) => s.text())

test('what waits elsewhere is said with its session and what is asked, and a way there', async () => {
  const it = show()
  expect(it.html()).toBe('<!--v-if-->')
  wait('a', 'api-server', ['q1'])
  await tell(['q1'])
  expect(it.find('section').attributes('aria-label')).toBe('Other sessions')
  const li = it.find('li')
  expect(li.text()).toContain('api-server')
  expect(li.text()).toContain('Claude wants to run a command')
  expect(li.text()).toContain((request!.tool_input as { command: string }).command)
  expect(it.findComponent(Link).props('to')).toEqual({ path: '/sessions/a', query: { request: 'q1' } })
  // It takes no focus, and it speaks no second time: the request was announced.
  expect(document.activeElement).toBe(document.body)
  expect(it.find('[aria-live], [role=status], [role=alert]').exists()).toBe(false)
  // It goes with its request, before the server says so.
  wait('a', 'api-server', [])
  await nextTick()
  expect(it.find('li').exists()).toBe(false)
})

test('three are shown, one on a phone, and the others counted', async () => {
  const it = show()
  wait('a', 'api-server', ['q1', 'q2', 'q3', 'q4', 'q5'])
  await tell(['q1', 'q2', 'q3', 'q4', 'q5'], 2)
  expect(it.findAll('li')).toHaveLength(3)
  expect(it.text()).toContain('and 4 more')
  setMedia(BREAKPOINTS.narrow, true)
  await nextTick()
  expect(it.findAll('li')).toHaveLength(1)
  expect(it.text()).toContain('and 6 more')
})

test('Escape in it and Close take it away, here and with the server, and give the focus on', async () => {
  const it = show()
  wait('a', 'api-server', ['q1', 'q2'])
  await tell(['q1', 'q2'])
  it.find<HTMLElement>('li a').element.focus()
  await it.find('li').trigger('keydown', { key: 'Escape' })
  expect(noticed).toEqual(['q1'])
  expect(it.findAll('li')).toHaveLength(1)
  await nextTick()
  expect(it.find('li').element.contains(document.activeElement)).toBe(true)
  await it.find('li button').trigger('click')
  expect(noticed).toEqual(['q1', 'q2'])
  expect(it.find('li').exists()).toBe(false)
  // Not even when the server, a new one perhaps, names it again.
  await tell(['q1', 'q2'])
  expect(it.find('li').exists()).toBe(false)
})

test('a request older than the page gets no toast', async () => {
  const it = show()
  useSessions().state = { ...useSessions().state, skew: 100 }
  wait('a', 'api-server', ['q1'], loadedAt + 99)
  wait('b', 'web', ['q2'], loadedAt + 101)
  await tell(['q1', 'q2'])
  expect(titles(it)).toEqual(['web'])
})

test('what cannot be seen in a title or a command is shown as what it is', async () => {
  const it = show()
  wait('a', 'api\u202eserver', ['q1'])
  await tell(['q1'])
  expect(it.text()).not.toContain('\u202e')
})

test('whatever is asked, and whoever asks, is words', async () => {
  const it = show()
  for (const [i, x] of PAYLOADS.entries()) {
    useSessions().apply(
      [
        {
          ...asking,
          version: ++version,
          session_id: 'a',
          title: x,
          cwd: x,
          pending_requests: [
            {
              ...request!,
              request_id: `x${i}`,
              created_at: loadedAt + 60,
              tool_name: i % 2 ? x : 'Bash',
              title: x,
              asker: x,
              tool_input: { command: x },
            },
          ],
        },
      ],
      context,
    )
    await tell([`x${i}`])
    const li = it.get('li')
    const tags = [...li.element.querySelectorAll('*')].map((el) => el.tagName.toLowerCase())
    expect(
      tags.filter((tag) => !['strong', 'button', 'span', 'svg', 'path', 'code', 'a', 'kbd'].includes(tag)),
    ).toEqual([])
    expect(
      [...li.element.querySelectorAll('*')]
        .flatMap((el) => el.getAttributeNames())
        .filter((name) => /^(on|src|style$)/.test(name)),
    ).toEqual([])
    expect(li.get('a').attributes('href')).toBe('#')
  }
  expect((globalThis as { ran?: unknown }).ran).toBeUndefined()
})

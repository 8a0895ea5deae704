import { mount, type VueWrapper } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { vi } from 'vitest'
import { nextTick, ref } from 'vue'
import { useSessions } from '@/state/sessions'
import { asks as form, request as card } from '@/testcards'
import { arrive } from '@/testsetup'
import type { Ack, Preview, ProcessState, Question, Request } from '@/wire/messages.gen'
import ToastHost from '@/ui/ToastHost.vue'
import { portKey, type Answer, type Port } from '@/connection/port'
import { loaded } from './loadForms'
import { Visit } from './visit'
import { AFTER_EDIT_MS } from './preview'
import RequestDock from './RequestDock.vue'

// Shared by the tests of the cards: requests, a dock, and its buttons by name.

// Once loaded, they render at once, as in a page that has loaded them before.
await Promise.all([loaded, (Visit as unknown as { __asyncLoader(): Promise<unknown> }).__asyncLoader()])

/** The server's reviews of requests and edits, by id. */
export const previews = new Map<string, Preview>()
export const asked: string[] = []
/** The server's responses about closed requests. */
export const fates = new Map<string, object>()
vi.stubGlobal('fetch', async (path: string, init: RequestInit) => {
  asked.push(`${init.method} ${path} ${String(init.body ?? '')}`.trim())
  const said =
    previews.get(/^\/api\/pending\/(.*)\/preview$/.exec(path)?.[1] ?? '') ??
    fates.get(/^\/api\/pending\/([^/]*)$/.exec(path)?.[1] ?? '')
  return new globalThis.Response(JSON.stringify(said ?? { error: { code: 'not_found', message: 'No.' } }), {
    status: said ? 200 : 404,
  })
})

/** Waits until all calls to the server are answered. */
export async function answeredAll() {
  for (let i = 0; i < 20; i++) await Promise.resolve()
  await nextTick()
}

// Each test has its own hour, because the window remembers when it last got the focus.
export let NOW = 1_763_692_800_000

/** A request of the current hour. */
export const request = (id: string, more: Partial<Request> = {}): Request =>
  card(id, { created_at: NOW / 1000 - 5, ...more })
export const asks = (id: string, questions: Question[], more: Partial<Request> = {}) =>
  form(id, questions, { created_at: NOW / 1000 - 5, ...more })

export { question } from '@/testcards'

let version = 0
export function process(requests: Request[], more: Partial<ProcessState> = {}): ProcessState {
  return {
    type: 'process_state',
    version: ++version,
    session_id: 's',
    project_id: 'p',
    title: 'Fix it',
    cwd: '/w',
    state: 'assistant_turn',
    started_at: 1,
    state_changed_at: 1,
    model: '',
    permission_mode: 'default',
    memory: 0,
    cpu: 0,
    node_id: 'n',
    error: null,
    kill_reason: null,
    stuck: null,
    queued_messages: 0,
    pending_requests: requests,
    ...more,
  }
}

/** Releases the pressed key. */
const letGo = () => dispatchEvent(new KeyboardEvent('keyup'))

/** Starts another hour; for beforeEach. */
export function newHour(): void {
  letGo()
  NOW += 3_600_000
}

let toasts: VueWrapper | null = null

/** A dock with a store that the test changes instead of the socket. */
export function dock(requests: Request[], role: 'viewer' | 'member' = 'member') {
  const pinia = createPinia()
  setActivePinia(pinia)
  const store = useSessions()
  const answers: Answer[] = []
  const said: string[] = []
  const port: Port = {
    showing: () => {},
    answer(answer) {
      answers.push(answer)
      const command = { type: 'pending_request_response' as const, command_id: 'c' + answers.length, ...answer }
      store.setOutbox([
        ...store.outbox,
        { command, created_at: Date.now(), sent_at: store.connected ? Date.now() : null },
      ])
    },
    sendMessage: (_, text) => void said.push(text),
    cancel: () => true,
    follow: () => () => {},
    typing: () => {},
    draft: () => null,
    find: async () => true,
    refresh: async () => {},
    retryNow: () => {},
  }
  store.setStatus({ kind: 'open' })
  const context = {
    now: NOW,
    commandOf: (id: string) => store.outbox.find((e) => e.command.command_id === id)?.command,
  }
  store.apply(
    [
      {
        type: 'hello',
        protocol: 1,
        server_version: '1',
        node_id: 'n',
        user: { name: 'ada', role },
        server_time: NOW / 1000,
      },
      process(requests),
    ],
    context,
  )
  const cramped = ref(false)
  const before = document.createElement('textarea')
  document.body.append(before)
  const wrapper = mount(
    {
      components: { RequestDock },
      setup: () => ({ store, cramped, released: () => before.focus() }),
      template:
        '<RequestDock v-if="store.session(\'s\')" ref="dock" :session="store.session(\'s\')" :cramped="cramped" @release="released" />',
    },
    { attachTo: document.body, global: { plugins: [pinia], provide: { [portKey as symbol]: port } } },
  )
  toasts?.unmount()
  toasts = mount(ToastHost, { attachTo: document.body, global: { plugins: [pinia] } })
  return {
    wrapper,
    store,
    answers,
    said,
    before,
    focusFirst: () => (wrapper.vm.$refs['dock'] as { focusFirst(): Promise<void> }).focusFirst(),
    async state(now: Request[], more: Partial<ProcessState> = {}) {
      store.apply([process(now, more)], { ...context, now: Date.now() })
      await nextTick()
    },
    async ack(more: Partial<Ack>) {
      const id = 'c' + answers.length
      store.apply([{ type: 'ack', command_id: id, result: 'applied', ...more }], context)
      store.setOutbox(store.outbox.filter((e) => e.command.command_id !== id))
      await nextTick()
    },
  }
}

export const button = (w: VueWrapper, name: string) => {
  // The name of a button that asks for more ends with an ellipsis.
  const named = [name, `${name}…`]
  const found = w.findAll('button').find((b) => b.isVisible() && named.includes(b.attributes('aria-label') ?? b.text()))
  if (!found)
    throw new Error(
      `no button ${name}; there are: ${w
        .findAll('button')
        .map((b) => b.text())
        .join(', ')}`,
    )
  return found
}
export const has = (w: VueWrapper, name: string) =>
  w.findAll('button').some((b) => (b.attributes('aria-label') ?? b.text()) === name)
export const off = (w: VueWrapper, name: string) => button(w, name).attributes('aria-disabled') === 'true'
export const key = (w: VueWrapper, k: string, more: object = {}) =>
  w.find('[role=group]').trigger('keydown', { key: k, ...more })
export async function armed() {
  letGo()
  await answeredAll()
  arrive()
  vi.advanceTimersByTime(600)
  await nextTick()
}

/** Waits until the server has reviewed an edit. */
export async function looked() {
  vi.advanceTimersByTime(AFTER_EDIT_MS)
  await answeredAll()
}

/** Chooses an item of the first card's menu. */
export async function choose(w: VueWrapper, name: string) {
  await button(w, 'More actions').trigger('click')
  await button(w, name).trigger('click')
}

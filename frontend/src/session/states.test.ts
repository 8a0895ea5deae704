import { mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, describe, expect, test } from 'vitest'
import { nextTick, type Component } from 'vue'
import { createMemoryHistory, createRouter } from 'vue-router'
import type { SessionState } from '@/state/reducer'
import { carried, golden, notPickedUp, orphaned } from '@/testframes'
import type { Ack, Item, Lifecycle, ProcessState, SendMessage } from '@/wire/messages.gen'
import { portKey, type Port } from '@/connection/port'
import Composer from './Composer.vue'
import LifecycleBar from './LifecycleBar.vue'
import SessionHeader from './SessionHeader.vue'
import SessionRow from '@/sidebar/SessionRow.vue'
import { useSessions } from '@/state/sessions'
import TranscriptItem from './items/TranscriptItem.vue'

const router = createRouter({
  history: createMemoryHistory(),
  routes: [{ path: '/:any(.*)*', component: { template: '<p />' } }],
})
const pinia = createPinia()
let version = 100
const said: { session: string; text: string }[] = []
const port = {
  sendMessage: (session: string, text: string) => said.push({ session, text }),
  typing: () => {},
  cancel: () => true,
} as unknown as Port

beforeEach(() => {
  setActivePinia(pinia)
  const store = useSessions()
  store.forget()
  store.setOutbox([])
  store.setStatus({ kind: 'open' })
  store.apply(
    [
      {
        type: 'hello',
        protocol: 1,
        server_version: '1',
        node_id: 'n',
        user: { name: 'Ada', role: 'member' },
        server_time: 0,
      },
    ],
    { now: 0, commandOf: () => undefined },
  )
  localStorage.clear()
  said.length = 0
})

const show = (component: Component, props: object) =>
  mount(component, {
    props,
    attachTo: document.body,
    global: { plugins: [pinia, router], provide: { [portKey as symbol]: port } },
  })

/** What a row says beside its title, in windows where it has one line. */
const hintOf = (row: ReturnType<typeof show>) => row.find('a').attributes('title')

function known(frame: ProcessState): SessionState {
  const store = useSessions()
  store.apply([{ ...frame, version: ++version }], { now: 0, commandOf: () => undefined })
  return store.session(frame.session_id)!
}

describe('an ended session with an open request', () => {
  test('shows both in its header, and why it ended', () => {
    const header = show(SessionHeader, { session: known(orphaned()) })
    const words = header.find('h1').element.parentElement!.textContent
    expect(words).toContain('Failed')
    expect(words).toContain('Needs you')
    expect(header.find('.problem').text()).toContain('Claude ended by itself with exit code 1.')
    expect(header.findAll('.actions .label').map((b) => b.text())).toEqual(['Resume'])
  })

  test('shows both in its row', () => {
    const row = show(SessionRow, { session: known(orphaned()) })
    expect(hintOf(row)).toContain('Bash: touch a')
    expect(hintOf(row)).toContain('Claude ended by itself with exit code 1.')
  })

  test('a session that only ended shows one reason', () => {
    const row = show(SessionRow, { session: known({ ...orphaned(), pending_requests: [] }) })
    expect(hintOf(row)).toBe('Claude ended by itself with exit code 1. Its last words: out of memory')
  })
})

test('a session that may be stuck shows the server’s text', () => {
  const session = known(notPickedUp())
  expect(show(SessionHeader, { session }).find('.stuck').text()).toBe(session.stuck)
  expect(hintOf(show(SessionRow, { session }))).toContain(session.stuck)
})

test('a session of a runner that cannot be reached says so, and keeps its state', () => {
  const session = known({ ...notPickedUp(), stuck: null, unreachable: true, node_id: 'build-02' })
  expect(show(SessionHeader, { session }).find('.stuck').text()).toContain('build-02 can’t be reached.')
  expect(hintOf(show(SessionRow, { session }))).toContain('build-02 can’t be reached')
})

describe('the composer of an ended session', () => {
  const ended = () => known({ ...orphaned(), pending_requests: [] })
  const sendButton = (w: ReturnType<typeof show>) => w.find('button[type=submit]')

  test('sends, and says that it resumes', async () => {
    const w = show(Composer, { session: ended() })
    expect(sendButton(w).text()).toBe('Resume and send')
    expect(sendButton(w).attributes('aria-label')).toMatch(/^Send/)
    expect(sendButton(w).attributes('aria-label')?.toLowerCase()).toContain('resume and send')
    await w.find('textarea').setValue('Go on')
    await w.find('form').trigger('submit')
    expect(said).toEqual([{ session: orphaned().session_id, text: 'Go on' }])
    expect(w.find('textarea').element.value).toBe('')
  })

  test('is the usual one once Claude runs again', async () => {
    const w = show(Composer, { session: ended() })
    await w.setProps({ session: known({ ...notPickedUp(), state: 'user_turn' }) })
    expect(sendButton(w).text()).toBe('Send')
    expect(sendButton(w).attributes('aria-label')).toBeUndefined()
  })

  test('queues while Claude works, and says so', () => {
    const working = { ...ended(), state: 'assistant_turn' as const }
    expect(sendButton(show(Composer, { session: working })).text()).toBe('Queue')
  })

  test('queues without a connection', async () => {
    useSessions().setStatus({ kind: 'waiting', since: 0, retryAt: 0 })
    expect(sendButton(show(Composer, { session: ended() })).text()).toBe('Queue')
  })

  test('shows the progress of a message being sent', () => {
    const session = ended()
    const command: SendMessage = {
      type: 'send_message',
      command_id: 'c',
      session_id: session.session_id,
      text: 'Go on',
    }
    useSessions().setOutbox([{ command, created_at: 0, sent_at: 0 }])
    expect(show(Composer, { session }).text()).toContain('Resuming Claude…')
  })

  test('a message that nobody has taken yet waits for the resume', () => {
    expect(show(Composer, { session: known({ ...orphaned(), queued_messages: 1 }) }).text()).toContain(
      '1 message queued until you resume this session.',
    )
  })
})

describe('a rejected message', () => {
  let id = 0
  async function refuse(session: SessionState, text: string) {
    const command: SendMessage = {
      type: 'send_message',
      command_id: `refused-${++id}`,
      session_id: session.session_id,
      text,
    }
    const ack: Ack = {
      type: 'ack',
      command_id: command.command_id,
      result: 'rejected',
      error: { code: 'x', message: 'Claude was not found.' },
    }
    useSessions().apply([ack], { now: 0, commandOf: () => command })
    await nextTick()
  }

  test('returns to the field, with the reason', async () => {
    const session = known({ ...orphaned(), pending_requests: [] })
    const w = show(Composer, { session })
    await refuse(session, 'Go on')
    expect(w.find('textarea').element.value).toBe('Go on')
    expect(w.find('[role=alert]').text()).toContain(
      'Message not sent. Claude was not found. It is back in the message field.',
    )
    await w.find('form').trigger('submit')
    expect(w.find('[role=alert]').exists()).toBe(false)
  })

  test('does not return twice', async () => {
    const session = known({ ...orphaned(), pending_requests: [] })
    const w = show(Composer, { session })
    await refuse(session, 'Go on')
    await w.find('form').trigger('submit')
    w.unmount()
    const again = show(Composer, { session })
    expect(again.find('textarea').element.value).toBe('')
    expect(again.find('[role=alert]').exists()).toBe(false)
  })

  test('does not replace a draft', async () => {
    const session = known({ ...orphaned(), pending_requests: [] })
    const w = show(Composer, { session })
    await w.find('textarea').setValue('Another thought')
    await refuse(session, 'Go on')
    expect(w.find('textarea').element.value).toBe('Another thought')
    const back = w.findAll('button').find((b) => b.text() === 'Restore message')!
    await back.trigger('click')
    expect(w.find('textarea').element.value).toBe('Another thought\n\nGo on')
  })
})

describe('the record of a carried answer', () => {
  const record = (by?: string): Item => {
    const [item] = carried(by).items
    return item!
  }

  test('says so to its author', () => {
    const text = show(TranscriptItem, { item: record('Ada'), cwd: '/w' }).text()
    expect(text).toContain('Carried over')
    expect(text).toContain('Your earlier answer was sent again after Claude resumed')
  })

  test('says so to others', () => {
    expect(show(TranscriptItem, { item: record('Grace'), cwd: '/w' }).text()).toContain(
      'Grace’s earlier answer was sent again',
    )
  })

  test('an answer that was delivered at once is not a carried one', () => {
    const item = { ...record('Ada'), carried: undefined } as unknown as Item
    expect(show(TranscriptItem, { item, cwd: '/w' }).text()).not.toMatch(/Carried|again/)
  })
})

describe('a session of an external agent', () => {
  const terminal = (more: Partial<ProcessState> = {}) =>
    known({ ...golden<ProcessState>('process_state.terminal'), ...more })
  const quiet = () => terminal({ state: 'dead', pending_requests: [] })

  test('has a badge, and nothing to kill, resume or switch', () => {
    for (const session of [terminal(), quiet()]) {
      const header = show(SessionHeader, { session })
      expect(header.find('.kind').text()).toBe('Terminal')
      expect(header.findAll('.actions .label')).toHaveLength(0)
      expect(header.text()).not.toContain('Ended')
      header.unmount()
    }
  })

  test('waits, or has no open request', () => {
    expect(show(SessionHeader, { session: terminal() }).find('.chip').text()).toBe('Needs you')
    expect(show(SessionHeader, { session: quiet() }).find('.chip').text()).toBe('No open requests')
  })

  test('shows its question and folder in its row', () => {
    const row = show(SessionRow, { session: terminal() })
    expect(hintOf(row)).toBe(`Bash: touch a < b && echo '<&>'`)
    expect(row.find('.kind').text()).toBe('Terminal')
  })
})

describe('the progress of an agent', () => {
  const bar = (name: string) => show(LifecycleBar, { lifecycle: golden<Lifecycle>(name) })

  test('is shown with phase and step', () => {
    const words = bar('lifecycle').text().replace(/\s+/g, ' ')
    expect(words).toContain('Plan started')
    expect(words).toContain('Phase 33: Hook Bridge')
    expect(words).toContain('step 2 of 5')
    expect(bar('lifecycle.bare').text()).toBe('Task completed')
  })

  test('is the newest one, in any order of arrival', () => {
    const store = useSessions()
    const now = golden<Lifecycle>('lifecycle')
    const context = { now: 0, commandOf: () => undefined }
    store.apply([now, { ...now, event_type: 'old', at: now.at - 1 }], context)
    expect(store.lifecycle(now.session_id)?.event_type).toBe('plan-started')
    store.apply([{ ...now, event_type: 'new', at: now.at }], context)
    expect(store.lifecycle(now.session_id)?.event_type).toBe('new')
  })
})

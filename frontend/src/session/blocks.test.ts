import { flushPromises, mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { defineComponent, h, nextTick } from 'vue'
import { arrive } from '@/testsetup'
import type { Item, Request } from '@/wire/messages.gen'
import AgentGroup from './items/AgentGroup.vue'
import CallGroup from './items/CallGroup.vue'
import TodoStrip from './items/TodoStrip.vue'
import TranscriptItem from './items/TranscriptItem.vue'
import { provideDenied } from './denied'
import { findItems, rangesIn } from './find'
import { textOfItem } from './itemtext'
import { rowsOf, todosOf, type ToolCall } from './rows'
import TranscriptRow from './TranscriptRow.vue'

beforeEach(() => setActivePinia(createPinia()))

const head = { seq: 1, rev: 1, key: 'k', at: 1_700_000_000, agent_id: null }
const call = (more: Partial<ToolCall>): Item => ({
  ...head,
  kind: 'tool_call',
  tool_use_id: 't',
  tool_name: 'Bash',
  input_bytes: 2,
  status: 'done',
  result_bytes: 0,
  input: {},
  ...more,
})

async function show(item: Item) {
  const it = mount(TranscriptItem, { props: { item, cwd: '/w' }, attachTo: document.body })
  // The engines of words and of details come on their own.
  await import('@/text/markdown')
  await import('./items/ToolDetail.vue')
  await import('./items/Attachments.vue')
  await flushPromises()
  return it
}
async function open(item: Item) {
  const it = await show(item)
  await it.find('button.head').trigger('click')
  await flushPromises()
  return it
}

describe('shows what ran, not what was proposed', () => {
  const edit = {
    edited: true,
    edited_by: 'Ana',
    proposed_input: { command: 'rm proposed', file_path: '/w/proposed', description: 'proposed' },
  }
  const items: Record<string, Item> = {
    'a command': call({ input: { command: 'touch ran' }, ...edit }),
    'a file': call({ tool_name: 'Write', input: { file_path: '/w/ran', content: 'ran' }, ...edit }),
    'an edit': call({ tool_name: 'Edit', input: { file_path: '/w/ran', old_string: 'a', new_string: 'ran' }, ...edit }),
    'any tool': call({ tool_name: 'mcp__x__y', input: { what: 'ran' }, ...edit }),
    'what is too large': call({ input_bytes: 99_999, input: undefined, ...edit }),
    'a plan': { ...head, kind: 'plan', text: 'ran', ...edit },
    'a list': { ...head, kind: 'todo', todos: [{ content: 'ran', status: 'pending' }], ...edit },
    'a record': {
      ...head,
      kind: 'resolved',
      request_id: 'r',
      request_type: 'tool_approval',
      tool_name: 'Bash',
      tool_input: { command: 'touch ran' },
      outcome: 'answered',
      summary: 'Approved, edited',
      waited: 1,
      by: 'Ana',
      edited: true,
      proposed_input: edit.proposed_input,
    },
  }
  test.each(Object.keys(items))('%s', async (name) => {
    const it = await show(items[name]!)
    await import('./items/EditedMark.vue')
    await flushPromises()
    expect(it.text()).toContain('Edited by Ana before it ran')
    if (it.find('button.head').exists()) await it.find('button.head').trigger('click')
    await flushPromises()
    expect(it.text()).not.toContain('proposed ')
    expect(it.text()).not.toMatch(/rm proposed|w.proposed/)
    expect(it.text()).toContain(name === 'what is too large' ? 'Edited by Ana' : 'ran')
    await it
      .findAll('button')
      .find((b) => b.text() === 'Show what Claude proposed')!
      .trigger('click')
    expect(it.text()).toMatch(/This did not run.*rm proposed/s)
    expect(textOfItem(items[name]!)).not.toContain('proposed')
  })

  test('a subagent and a group of calls', async () => {
    const agent = mount(AgentGroup, {
      props: {
        agentId: 'a',
        item: { ...head, kind: 'subagent', description: 'ran', status: 'done', ...edit, agent_id: 'a' },
        items: [],
        cwd: '/w',
      },
    })
    const group = mount(CallGroup, {
      props: {
        id: 'g',
        items: [call({ key: '1' }), call({ key: '2', input: { command: 'touch ran' }, ...edit })] as ToolCall[],
        cwd: '/w',
      },
    })
    for (const it of [agent, group]) {
      expect(it.text()).toContain('Edited by Ana before it ran')
      expect(it.text()).not.toContain('rm proposed')
    }
  })

  test('an unedited call says nothing about edits', async () => {
    const it = await show(call({ input: { command: 'ran' }, edited: true, proposed_input: { command: 'was' } }))
    await import('./items/EditedMark.vue')
    await flushPromises()
    expect(it.text()).toContain('Edited before it ran')
  })
})

describe('a block of each kind', () => {
  test('a person’s message, with its author and attachments', async () => {
    const it = await show({
      ...head,
      kind: 'user',
      text: 'Hi <b>',
      by: 'Ada',
      attachments: [{ name: 'a.png', media_type: 'image/png', size: 2048 }],
    })
    expect(it.text()).toMatch(/Ada/)
    expect(it.find('.words').text()).toBe('Hi <b>')
    expect(it.get('.attachments').text()).toMatch(/a\.png\s+2\.0 kB/)
    expect(it.find('a').exists()).toBe(false)
  })

  test('a person’s message is Markdown and keeps its lines, and a long one is collapsed', async () => {
    const it = await show({ ...head, kind: 'user', text: 'One **two**\nthree\n\n- [x] four', by: 'Ada' })
    expect(it.get('.words').html()).toMatch(/One <strong>two<\/strong><br>three/)
    expect(it.get('.words input').attributes()).toHaveProperty('disabled')
    expect(it.find('.more').exists()).toBe(false)

    const long = mount(TranscriptItem, {
      props: { item: { ...head, kind: 'user', text: 'line\n'.repeat(17), by: 'Ada' }, cwd: '/w' },
    })
    await import('./items/LongMessage.vue')
    await flushPromises()
    expect(long.find('.cut').exists()).toBe(true)
    await long.get('.more').trigger('click')
    expect(long.find('.cut').exists()).toBe(false)
    expect(long.get('.words').text().match(/line/g)).toHaveLength(17)
  })

  test('what a person said with a hidden character, which is marked as in the words of Claude', async () => {
    const it = await show({ ...head, kind: 'user', text: 'Open \u202egpj.exe', by: 'Ada' })
    expect(it.get('.words .hidden-character').attributes('title')).toBe('U+202E')
  })

  test('attachments: images as thumbnails, other files as downloads', async () => {
    const it = await show({
      ...head,
      kind: 'user',
      text: '',
      by: 'Ada',
      attachments: [
        { attachment_id: 'p', name: 'shot.png', media_type: 'image/png', size: 9 },
        { attachment_id: 'd/..', name: '<b>.pdf', media_type: 'application/pdf', size: 9 },
      ],
    })
    expect(it.find('.words').exists()).toBe(false)
    // It is asked for with the page key, once it is in view, and shown from memory.
    const fetched = vi.fn<typeof fetch>(async () => new Response('png'))
    vi.stubGlobal('fetch', fetched)
    vi.stubGlobal('URL', Object.assign(URL, { createObjectURL: () => 'blob:picture', revokeObjectURL: () => {} }))
    localStorage.setItem('sayso:page-key', 'k')
    expect(it.get('img').attributes()).toMatchObject({ alt: 'shot.png' })
    arrive()
    await vi.waitFor(() => expect(it.get('img').attributes('src')).toBe('blob:picture'))
    expect(fetched).toHaveBeenCalledWith('/api/attachments/p', {
      credentials: 'same-origin',
      headers: { 'X-Sayso-Page-Key': 'k' },
    })
    expect(it.findAll('a')[0]!.attributes('href')).toBe('blob:picture')
    const file = it.findAll('a')[1]!
    expect(file.attributes()).toMatchObject({ href: '/api/attachments/d%2F..', download: '<b>.pdf' })
  })

  test('Claude’s text, with code that can be copied', async () => {
    const writeText = vi.fn<(text: string) => Promise<void>>().mockResolvedValue(undefined)
    vi.stubGlobal('navigator', { clipboard: { writeText } })
    const it = await show({ ...head, kind: 'text', text: '**So:**\n\n```sh\nls -l\n```' })
    expect(it.find('strong').text()).toBe('So:')
    expect(it.find('figure code').text()).toBe('ls -l')
    await it.find('button[aria-label="Copy code"]').trigger('click')
    expect(writeText).toHaveBeenCalledWith('ls -l')
    vi.unstubAllGlobals()
  })

  test('a message has an address of its own', async () => {
    const writeText = vi.fn<(text: string) => Promise<void>>().mockResolvedValue(undefined)
    vi.stubGlobal('navigator', { clipboard: { writeText } })
    const item: Item = { ...head, key: 'message:1&', kind: 'text', text: 'So.' }
    const row = mount(TranscriptRow, {
      props: {
        row: { key: item.key, kind: 'item', item, past: false },
        session: { session_id: 's', cwd: '/w' } as never,
        linked: false,
      },
    })
    await row.get('button[aria-label="Copy link to this message"]').trigger('click')
    expect(writeText).toHaveBeenCalledWith(`${location.origin}/sessions/s?block=message%3A1%26`)
    vi.unstubAllGlobals()
  })

  test('thinking is collapsed until it is opened', async () => {
    const it = await show({ ...head, kind: 'thinking', text: 'Hm, hm.' })
    expect(it.text()).not.toContain('Hm')
    await it.find('button').trigger('click')
    expect(it.text()).toContain('Hm, hm.')
  })

  test('thinking shows its duration if it is known', async () => {
    expect((await show({ ...head, kind: 'thinking', text: 'Hm.', took: 12.4 })).get('button').text()).toMatch(
      /^Thinking\s*· 12 s$/,
    )
    expect((await show({ ...head, kind: 'thinking', text: 'Hm.' })).get('button').text()).toBe('Thinking')
  })

  test('a file that was read or written shows its number of lines', async () => {
    const facts = async (more: Partial<ToolCall>) => {
      const it = await show(call(more))
      await import('./items/LineCount.vue')
      await flushPromises()
      return it.get('.facts').text()
    }
    const result = ' 1→a\n 2→b\n\n<system-reminder>\nMore.\n</system-reminder>'
    const bytes = new TextEncoder().encode(result).length
    expect(await facts({ tool_name: 'Read', result, result_bytes: bytes })).toBe('2 lines')
    expect(await facts({ tool_name: 'Read', result, result_bytes: 90_000 })).toBe('')
    expect(
      await facts({ tool_name: 'Write', input: { file_path: '/w/a', content: 'x\n' }, result: 'ok', result_bytes: 2 }),
    ).toBe('1 line')
  })

  test('calls of one tool are one line that shows what runs, failed and changed', async () => {
    const read = (n: number, more: Partial<ToolCall> = {}) =>
      call({
        key: 'k' + n,
        tool_name: 'Read',
        input: { file_path: `/w/${n}.go` },
        finished_at: 1_700_000_000 + n,
        ...more,
      }) as ToolCall
    const group = (items: ToolCall[]) =>
      mount(CallGroup, { props: { id: 'calls:k1', items, cwd: '/w' }, attachTo: document.body })
    let it = group([read(1), read(2), read(3, { status: 'failed' })])
    expect(it.get('.head').text()).toMatch(/^Read\s*3 calls\s*1\.go · 2\.go · 3\.go\s*1 failed\s*3 s$/)
    expect(it.findAll('.calls .fold')).toHaveLength(0)
    await it.get('.head').trigger('click')
    expect(it.findAll('.calls .fold')).toHaveLength(3)
    it.unmount()

    it = group([read(1), read(2), read(3, { status: 'running', finished_at: undefined })])
    expect(it.get('.line').text()).toBe('3.go')
    it.unmount()

    const edit = (n: number) =>
      read(n, { tool_name: 'Edit', input: { file_path: '/w/a', old_string: 'a', new_string: 'b\nc' } })
    it = group(Array.from({ length: 40 }, (_, i) => edit(i + 1)))
    expect(it.get('.facts').text()).toMatch(/^\+80 −40/)
    await it.get('.head').trigger('click')
    expect(it.findAll('.calls .fold')).toHaveLength(30)
    await it.get('.more').trigger('click')
    expect(it.findAll('.calls .fold')).toHaveLength(40)
  })

  test('a command with its output', async () => {
    const it = await open(
      call({ input: { command: 'ls\u202e' }, result: '\u001b[32mok\u001b[0m done', result_bytes: 16 }),
    )
    expect(it.find('.line').text()).toContain('RLO')
    expect(it.find('.output .green').text()).toBe('ok')
    expect(it.find('.output pre').text()).toBe('ok done')
  })

  test('a long output is collapsed in its middle', async () => {
    const text = Array.from({ length: 300 }, (_, i) => `line ${i}`).join('\n')
    const it = await open(call({ input: { command: 'seq' }, result: text, result_bytes: text.length }))
    expect(it.text()).toContain('line 0')
    expect(it.text()).toContain('line 299')
    expect(it.text()).not.toContain('line 150')
    await it.find('.output .more').trigger('click')
    expect(it.text()).toContain('line 150')
  })

  test('an edit shows the size of its change, and the change itself', async () => {
    const it = await open(
      call({
        tool_name: 'MultiEdit',
        input: {
          file_path: '/w/a.go',
          edits: [
            { old_string: 'a\nb', new_string: 'a\nc\nd' },
            { old_string: 'x', new_string: '' },
          ],
        },
      }),
    )
    await vi.waitFor(() => expect(it.find('.change').text()).toBe('+2 −2'))
    expect(
      it
        .findAll('ins')
        .map((l) => l.text())
        .join(),
    ).toContain('c')
  })

  test('a written file is highlighted in its language', async () => {
    const it = await open(call({ tool_name: 'Write', input: { file_path: '/w/x.go', content: 'package x\n' } }))
    expect(it.find('figcaption').text()).toBe('go')
    expect(it.find('figure code').text()).toBe('package x')
  })

  test('an input that is too large says so', async () => {
    expect((await open(call({ input: undefined, input_bytes: 300_000 }))).text()).toContain('293 kB')
  })

  test('the record of a request: who, what, when, edited, carried', async () => {
    const it = await show({
      ...head,
      kind: 'resolved',
      request_id: 'r',
      request_type: 'tool_approval',
      tool_name: 'Bash',
      tool_input: { command: 'rm \u200bx' },
      outcome: 'answered',
      by: 'Ada',
      device: 'Firefox',
      summary: 'Approved',
      edited: true,
      waited: 65,
    })
    expect(it.text()).toMatch(/Approved.*Edited.*rm .*ZWSP.*x/)
    expect(it.text()).toMatch(/Ada on Firefox · .* · after 1 min/)
    const denied = await show({
      ...head,
      kind: 'resolved',
      request_id: 'r',
      request_type: 'tool_approval',
      tool_name: 'Bash',
      tool_input: { command: 'ls' },
      outcome: 'denied',
      by: 'Ada',
      summary: 'Denied',
      message: 'Use pnpm.',
      carried: true,
      waited: 0,
    })
    expect(denied.text()).toContain('Use pnpm.')
    expect(denied.text()).toContain('Carried over')
  })

  test('the end of a turn: time, tokens, cost', async () => {
    const it = await show({
      ...head,
      kind: 'result',
      is_error: false,
      subtype: 'success',
      duration_ms: 4200,
      num_turns: 2,
      cost_usd: 0.0123,
      input_tokens: 1200,
      output_tokens: 80,
    })
    expect(it.text()).toMatch(/4\.2 s.*1\.2K tokens in, 80 out.*\$0\.0123/)
  })

  test('a plan, a note and a failed turn', async () => {
    expect((await show({ ...head, kind: 'plan', text: '# First' })).find('h1').text()).toBe('First')
    expect(
      (await show({ ...head, kind: 'note', level: 'warning', text: 'Trying again in 2 s.' })).find('.warning').text(),
    ).toBe('Trying again in 2 s.')
    expect(
      (
        await show({
          ...head,
          kind: 'result',
          is_error: true,
          subtype: 'error_max_turns',
          duration_ms: 1,
          num_turns: 1,
          cost_usd: 0,
          input_tokens: 0,
          output_tokens: 0,
        })
      ).text(),
    ).toContain('The turn limit was reached.')
  })
})

describe('a subagent that calls one tool repeatedly', () => {
  const call = (n: number, tool_name: string): Item => ({
    ...head,
    seq: n,
    key: 'c' + n,
    agent_id: 'g',
    kind: 'tool_call',
    tool_use_id: 't' + n,
    tool_name,
    input: { file_path: `/w/${n}.ts` },
    input_bytes: 1,
    status: 'done',
    result_bytes: 0,
  })
  const open = (items: Item[]) =>
    mount(AgentGroup, {
      props: {
        agentId: 'g',
        item: {
          ...head,
          key: 'g',
          agent_id: 'g',
          kind: 'subagent',
          agent_type: 'Explore',
          description: 'find it',
          status: 'done',
        },
        items,
        cwd: '/w',
      },
    })

  test('shows one line, which can be opened', async () => {
    const it = open([
      ...Array.from({ length: 40 }, (_, i) => call(i, 'Read')),
      { ...head, seq: 50, key: 'x', agent_id: 'g', kind: 'text', text: 'Found.' },
    ])
    await it.get('button').trigger('click')
    await flushPromises()
    expect(it.findAll('.head').length).toBe(2)
    expect(it.findAll('.head')[1]!.text()).toContain('40 calls')
    expect(it.text()).not.toContain('earlier step')
    await it.findAll('.head')[1]!.trigger('click')
    expect(it.findAll('.head').length).toBe(32)
    expect(it.text()).toContain('Show 10 earlier steps')
  })
})

test('a denied call does not count as failed', () => {
  const record = (more: object) =>
    ({
      ...head,
      kind: 'resolved',
      request_id: 'r',
      request_type: 'tool_approval',
      tool_name: 'Bash',
      summary: '',
      waited: 1,
      ...more,
    }) as Item
  const items = [
    call({ key: 'a', tool_use_id: 'denied', status: 'failed' }),
    record({ key: 'ra', outcome: 'denied', tool_use_id: 'denied' }),
    call({ key: 'b', tool_use_id: 'broke', status: 'failed' }),
    record({ key: 'rb', outcome: 'answered', tool_use_id: 'broke' }),
    call({ key: 'c', tool_use_id: 'cut', status: 'failed', no_result: true }),
    record({ key: 'rc', outcome: 'answered', tool_use_id: 'cut' }),
  ]
  const page = mount(
    defineComponent({
      setup() {
        provideDenied(() => items)
        return () =>
          items
            .filter((it) => it.kind === 'tool_call')
            .map((item) => h(TranscriptItem, { key: item.key, item, cwd: '/w' }))
      },
    }),
  )
  expect(page.findAll('.facts').map((f) => f.text())).toEqual(['Denied', 'Failed', 'No result'])
})

describe('a subagent', () => {
  const items = [call({ key: 'a', agent_id: 'g', tool_use_id: 'asked', status: 'running' })]
  const group = (status: 'running' | 'done' | 'failed', requests: Request[] = []) =>
    mount(AgentGroup, {
      props: {
        agentId: 'g',
        item: {
          ...head,
          key: 'g',
          agent_id: 'g',
          kind: 'subagent',
          agent_type: 'Explore',
          description: 'find it',
          status,
        },
        items,
        cwd: '/w',
        requests,
      },
    })

  test('shows its own state', () => {
    expect(group('running').text()).toContain('Running')
    expect(group('done').text()).toMatch(/Done · 1 step/)
    expect(group('failed').text()).toContain('Failed')
  })

  test('waits when one of its tool calls does', () => {
    expect(group('running', [{ tool_use_id: 'asked' } as Request]).text()).toContain('Needs you')
    expect(group('running', [{ tool_use_id: 'other' } as Request]).text()).not.toContain('Needs you')
  })
})

describe('the to-do list', () => {
  const list = (...states: string[]): Item => ({
    ...head,
    kind: 'todo',
    todos: states.map((status, i) => ({ content: `do ${i}`, status })),
  })

  test('stays above the transcript until everything is done', () => {
    expect(todosOf([list('completed', 'in_progress')])).toHaveLength(2)
    expect(todosOf([list('in_progress'), { ...list('completed'), seq: 2, key: 'l' }])).toBeNull()
    expect(rowsOf([list('in_progress')], null)).toMatchObject([{ past: true }])
  })

  test('shows the current step, and all of them on a press', async () => {
    const strip = mount(TodoStrip, {
      props: { todos: (list('completed', 'in_progress', 'pending') as Extract<Item, { kind: 'todo' }>).todos },
    })
    expect(strip.text()).toMatch(/1 of 3.*do 1/)
    await strip.find('button').trigger('click')
    expect(strip.findAll('li')).toHaveLength(3)
  })
})

describe('search', () => {
  const text = (seq: number, words: string): Item => ({ ...head, seq, key: 'k' + seq, kind: 'text', text: words })

  test('finds text anywhere, in any case', () => {
    const items = [
      text(1, 'Hello'),
      call({ seq: 2, key: 'k2', input: { command: 'echo HELLO' } }),
      call({ seq: 3, key: 'k3', result: 'h\u001b[1mello' }),
      text(4, 'Bye'),
    ]
    expect(findItems(items, ' hello ').map((it) => it.seq)).toEqual([1, 2, 3])
    expect(findItems(items, '  ')).toEqual([])
  })

  test('reads a changed block again', () => {
    const items = [text(1, 'one')]
    expect(findItems(items, 'two')).toHaveLength(0)
    expect(findItems([{ ...items[0]!, rev: 2, text: 'two' } as Item], 'two')).toHaveLength(1)
  })

  test('highlights the text where it is drawn', () => {
    const root = document.createElement('div')
    root.innerHTML = 'Go go <b>Go</b>'
    expect(rangesIn(root, 'go').map(String)).toEqual(['Go', 'go', 'Go'])
  })

  test('a copied block contains its text', () => {
    expect(textOfItem(call({ input: { command: 'ls' }, result: '\u001b[31ma\u001b[0m' }))).toBe('Bash\nls\na')
  })
})

test('a replaced row is still drawn', async () => {
  const it = await show({ ...head, kind: 'text', text: 'one' })
  await it.setProps({ item: { ...head, rev: 2, kind: 'text', text: 'two' } as Item })
  await nextTick()
  expect(it.text()).toBe('two')
})

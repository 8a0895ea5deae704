import { flushPromises } from '@vue/test-utils'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { nextTick } from 'vue'
import { command, file, KINDS, lines, NOTHING, tool } from '@/testcards'
import { arrive } from '@/testsetup'
import { PAYLOADS } from '@/testpayloads'
import { batchable } from './batch'
import type { Request, RiskMark } from '@/wire/messages.gen'
import { findings, segments } from './marks'
import { headings } from './plan'
import {
  answeredAll,
  armed,
  asked,
  button,
  choose,
  dock,
  fates,
  has,
  key,
  looked,
  newHour,
  NOW,
  off,
  previews,
} from './testdock'

// What a card does with what the server says of it. How each kind of card is
// heard is in the aria snapshots of the browser tests.

beforeEach(() => {
  localStorage.clear()
  previews.clear()
  asked.length = 0
  newHour()
  vi.useFakeTimers({ now: NOW })
})
afterEach(() => vi.useRealTimers())

test('text written by others never runs, wherever it is shown', async () => {
  const all = PAYLOADS.join('\n')
  const tools = new Map(Object.values(KINDS).map((kind) => [kind[0].tool_name, kind]))
  for (const [r, preview] of tools.values()) {
    if (preview?.file) Object.assign(preview.file, { before: all, after: all + '!' })
    const input = Object.fromEntries(
      Object.entries(r.tool_input as object).map(([k, v]) => [k, typeof v === 'string' ? all : v]),
    )
    previews.set(r.tool_name, {
      ...(preview ?? NOTHING),
      rules: [
        {
          suggestion: 0,
          rule: all,
          form: 'prefix',
          text: all,
          level: 'high',
          kind: 'launcher',
          reason: all,
          would_allow: [all],
        },
      ],
      why: {
        permission_mode: all,
        reason: all,
        blocked_path: all,
        rules: [{ rule: all, behavior: 'ask', source: 'user' }],
        uncovered: [all],
        smallest: [all],
      },
    })
    const d = dock([
      {
        ...r,
        request_id: r.tool_name,
        tool_input: input,
        description: all,
        decision_reason: all,
        permission_suggestions: [
          { type: 'addRules', behavior: 'allow', rules: [{ toolName: 'Bash', ruleContent: all }] },
        ],
      },
    ])
    await armed()
    await answeredAll()
    expect(
      d.wrapper.element.ownerDocument.querySelectorAll(
        '.card script, .card img, .card iframe, .card svg[onload], .card [onerror], .card [onfocus], .card object, .card embed, .card form[action]',
      ),
    ).toHaveLength(0)
    d.wrapper.unmount()
  }
  expect((globalThis as { ran?: unknown }).ran).toBeUndefined()
}, 60_000)

// The aria snapshots do not tell these.
test.each([
  ['a command', ['Edit e', 'Raw JSON v', 'Deny n', 'Approve y']],
  ['a plan', ['Keep planning n', 'Approve and ask before edits y']],
])('the shortcuts of %s are announced with its buttons', async (name, keys) => {
  const d = dock([KINDS[name]![0]])
  await armed()
  await button(d.wrapper, 'More actions').trigger('click')
  expect(
    d.wrapper
      .findAll('[aria-keyshortcuts]')
      .map((b) => `${b.attributes('aria-label') ?? b.text()} ${b.attributes('aria-keyshortcuts')}`),
  ).toEqual(keys)
})

describe('the demands of Claude Code', () => {
  const bash = (more: Partial<Request>) => {
    previews.set('a', command('low', []))
    return dock([
      tool(
        'Bash',
        { command: 'ls' },
        {
          risk: 'low',
          permission_suggestions: [
            {
              type: 'addRules',
              behavior: 'allow',
              destination: 'session',
              rules: [{ toolName: 'Bash', ruleContent: 'ls:*' }],
            },
          ],
          ...more,
        },
      ),
    ])
  }
  const shown = async (d: ReturnType<typeof bash>) => {
    await import('./Demands.vue')
    await armed()
    await flushPromises()
    return d.wrapper.text()
  }

  test('default_to_no: no single press approves, and Deny comes first', async () => {
    const d = bash({ default_to_no: true })
    expect(await shown(d)).toContain('Claude Code recommends denying this unless you are sure.')
    expect(button(d.wrapper, 'Deny').classes()).toContain('primary')
    expect(button(d.wrapper, 'Approve').classes()).not.toContain('primary')
    for (const press of ['y', 'Enter', ' ']) {
      await key(d.wrapper, press)
      dispatchEvent(new KeyboardEvent('keyup', { key: press }))
    }
    await d.wrapper.find('[role=group]').trigger('keydown', { key: 'Enter', ctrlKey: true })
    if (has(d.wrapper, 'Approve')) await button(d.wrapper, 'Approve').trigger('click')
    vi.advanceTimersByTime(5_000)
    expect(d.answers).toEqual([])
  })

  test('suppress_always_allow_rule: no rule is offered, by button or key', async () => {
    const free = bash({})
    await shown(free)
    expect(free.wrapper.text()).toContain('ls')
    expect(has(free.wrapper, 'Don’t ask again…')).toBe(true)
    free.wrapper.unmount()
    const d = bash({ suppress_always_allow_rule: true })
    expect(await shown(d)).toContain('Approval applies only once.')
    expect(has(d.wrapper, 'Don’t ask again…')).toBe(false)
    await key(d.wrapper, 'a')
    await button(d.wrapper, 'Approve').trigger('click')
    expect(d.answers).toHaveLength(1)
    expect(d.answers[0]).not.toHaveProperty('updated_permissions')
  })

  test('matched_ask_rule and mcp_server are shown, whatever they contain', async () => {
    const d = dock([
      tool(
        'mcp__my__server__do_it',
        {},
        {
          matched_ask_rule: { source: 'userSettings', tool_name: 'Bash', rule_content: 'git push:*\u202e' },
          mcp_server: { name: 'my__server', source: 'project' },
        },
      ),
    ])
    const text = await shown(d)
    expect(text).toMatch(/Asked because of the rule\s+Bash\(git push:\*/)
    expect(text).toContain('in your settings')
    expect(text).not.toContain('\u202e')
    expect(text).toMatch(/Tool from the MCP server\s+my__server\s+from the project settings/)
    expect(d.wrapper.find('h2').text()).toContain('do_it')
    expect(d.wrapper.find('h2').text()).not.toContain('server__do_it')
  })

  test.each([
    { default_to_no: true },
    { requires_user_interaction: true },
    { matched_ask_rule: { source: 's', tool_name: 'Bash' } },
    { classifier_approvable: false },
  ])('%o is excluded from bulk approvals', (more) => {
    const waiting = (r: Partial<Request>) => ({
      session: { rights: null } as never,
      request: tool('Bash', { command: 'ls' }, { risk: 'low', ...r }),
    })
    expect(batchable(waiting({}), 'member')).toBe(true)
    expect(
      batchable(waiting({ classifier_approvable: true, mcp_server: { name: 'a', source: 'user' } }), 'member'),
    ).toBe(true)
    expect(batchable(waiting(more), 'member')).toBe(false)
  })
})

describe('a dangerous request', () => {
  const highRisk = () => {
    previews.set('a', command('high', [{ from: 0, to: 2, kind: 'delete_tree', level: 'high', reason: 'Removes.' }]))
    return dock([tool('Bash', { command: 'rm -rf a' })])
  }

  test('takes more than one press', async () => {
    const d = highRisk()
    await armed()
    await button(d.wrapper, 'Approve').trigger('click')
    expect(d.answers).toEqual([])
    const field = d.wrapper.find('.high-risk input')
    await field.setValue('rmm')
    await field.trigger('keydown', { key: 'Enter' })
    expect(d.answers).toEqual([])
    await field.setValue('rm')
    await field.trigger('keydown', { key: 'Enter' })
    expect(d.answers).toMatchObject([{ decision: 'allow' }])
  })

  test('can be undone for some seconds: with what is there, by nobody else, and not twice', async () => {
    const d = highRisk()
    const held = (more: object) => ({
      by: 'Ada',
      mine: true,
      decision: 'allow' as const,
      at: NOW / 1000,
      until: NOW / 1000 + 3,
      ...more,
    })
    await armed()
    await button(d.wrapper, 'Approve').trigger('click')
    const field = d.wrapper.find<HTMLInputElement>('.high-risk input')
    field.element.focus()
    await field.setValue('rm')
    await field.trigger('keydown', { key: 'Enter' })
    expect(d.answers).toMatchObject([{ decision: 'allow', undo_ms: 3_000 }])
    await d.ack({ held_until: NOW / 1000 + 3 })
    await d.state([tool('Bash', { command: 'rm -rf a' }, { held: held({}) })])
    await nextTick()
    // The focus is on the strip: in the field Ctrl+Z would take back letters.
    expect((document.activeElement as HTMLElement).className).toContain('outcome')
    expect(d.wrapper.find('.outcome').text()).toContain('Approved')
    expect(has(d.wrapper, 'Undo')).toBe(true)
    expect(has(d.wrapper, 'Approve')).toBe(false)

    // It was taken back, here or elsewhere: open again, and as new as one just asked.
    await d.state([tool('Bash', { command: 'rm -rf a' })])
    expect(d.wrapper.text()).not.toContain('takes effect')
    expect(off(d.wrapper, 'Approve')).toBe(true)
    await armed()
    expect(off(d.wrapper, 'Approve')).toBe(false)

    await d.state([
      tool('Bash', { command: 'rm -rf a' }, { held: held({ by: 'Grace', mine: false, decision: 'deny' }) }),
    ])
    expect(d.wrapper.text()).toContain('Grace denied this. Sending shortly.')
    expect(has(d.wrapper, 'Undo')).toBe(false)
    expect(off(d.wrapper, 'Approve')).toBe(true)
    await d.state([
      tool(
        'Bash',
        { command: 'rm -rf a' },
        { held: held({ by: 'Grace', mine: false, dropped: 'They can no longer answer this request.' }) },
      ),
    ])
    expect(d.wrapper.text()).toContain('The decision by Grace was not used. They can no longer answer this request.')
    await armed()
    expect(off(d.wrapper, 'Approve')).toBe(false)
  })

  test('can be denied by anybody while another person’s approval is held, and the denial is sent at once', async () => {
    const d = highRisk()
    const held = { by: 'Grace', mine: false, decision: 'allow' as const, at: NOW / 1000, until: NOW / 1000 + 3 }
    await d.state([tool('Bash', { command: 'rm -rf a' }, { held })])
    await armed()
    expect(off(d.wrapper, 'Approve')).toBe(true)
    expect(off(d.wrapper, 'Deny')).toBe(false)
    await key(d.wrapper, 'y')
    vi.advanceTimersByTime(2_000)
    await button(d.wrapper, 'Deny').trigger('click')
    expect(d.answers).toEqual([])
    await button(d.wrapper, 'Deny').trigger('click')
    expect(d.answers).toMatchObject([{ decision: 'deny' }])
    await d.ack({})
    await d.state([])
    expect(d.answers).toHaveLength(1)
  })

  test('cannot be decided over a held denial', async () => {
    const d = highRisk()
    await d.state([
      tool(
        'Bash',
        { command: 'rm -rf a' },
        { held: { by: 'Grace', mine: false, decision: 'deny', at: NOW / 1000, until: NOW / 1000 + 3 } },
      ),
    ])
    await armed()
    expect([off(d.wrapper, 'Approve'), off(d.wrapper, 'Deny')]).toEqual([true, true])
  })

  test('tells its approver who denied it', async () => {
    const d = highRisk()
    await armed()
    await button(d.wrapper, 'Approve').trigger('click')
    const field = d.wrapper.find<HTMLInputElement>('.high-risk input')
    await field.setValue('rm')
    await field.trigger('keydown', { key: 'Enter' })
    await d.ack({ held_until: NOW / 1000 + 3 })
    await d.state([
      tool(
        'Bash',
        { command: 'rm -rf a' },
        { held: { by: 'Ada', mine: true, decision: 'allow', at: NOW / 1000, until: NOW / 1000 + 3 } },
      ),
    ])
    await vi.dynamicImportSettled()
    fates.set('a', {
      request_id: 'a',
      session_id: 's',
      status: 'denied',
      resolved: { outcome: 'denied', by: 'Grace', device: null, at: NOW / 1000 + 1, summary: 'Denied by Grace.' },
    })
    await d.state([])
    await answeredAll()
    expect(document.body.textContent).toContain('Grace denied this. Your approval was not used.')
  })

  test('can be confirmed by holding a key, but not by one that is released', async () => {
    const d = highRisk()
    await armed()
    await key(d.wrapper, 'y')
    vi.advanceTimersByTime(700)
    dispatchEvent(new KeyboardEvent('keyup', { key: 'y' }))
    vi.advanceTimersByTime(2_000)
    expect(d.answers).toEqual([])
    await key(d.wrapper, 'y')
    vi.advanceTimersByTime(1200)
    expect(d.answers).toMatchObject([{ decision: 'allow' }])
  })

  test('stops counting a held key when another window gets the focus', async () => {
    const d = highRisk()
    await armed()
    await key(d.wrapper, 'y')
    dispatchEvent(new Event('blur'))
    vi.advanceTimersByTime(2_000)
    expect(d.answers).toEqual([])
  })

  test('is approved like any other once an edit makes it harmless', async () => {
    const d = highRisk()
    await armed()
    await choose(d.wrapper, 'Edit')
    previews.set('a', command('low'))
    await d.wrapper.find('textarea').setValue('ls')
    expect(off(d.wrapper, 'Approve')).toBe(true)
    await looked()
    expect(asked.at(-1)).toBe('POST /api/pending/a/preview {"tool_input":{"command":"ls"}}')
    await button(d.wrapper, 'Approve').trigger('click')
    expect(d.answers).toMatchObject([{ decision: 'allow', updated_input: { command: 'ls' } }])
  })
})

test('waits a moment for the server’s review, but not forever', async () => {
  vi.stubGlobal(
    'fetch',
    ((was) => (path: string, init: RequestInit) =>
      path.endsWith('/preview') ? new Promise(() => {}) : was(path, init))(fetch),
  )
  const d = dock([tool('Bash', { command: 'ls' }, { request_id: 'waits' })])
  arrive()
  vi.advanceTimersByTime(600)
  await nextTick()
  expect(off(d.wrapper, 'Approve')).toBe(true)
  expect(has(d.wrapper, 'Deny')).toBe(true)
  vi.advanceTimersByTime(2_400)
  await nextTick()
  expect(off(d.wrapper, 'Approve')).toBe(false)
})

test('has no preview, and waits for none, once it is decided', async () => {
  vi.stubGlobal(
    'fetch',
    ((was) => (path: string, init: RequestInit) =>
      path.endsWith('/decided/preview')
        ? Promise.resolve(new globalThis.Response(null, { status: 204 }))
        : was(path, init))(fetch),
  )
  const d = dock([tool('Bash', { command: 'ls' }, { request_id: 'decided' })])
  arrive()
  vi.advanceTimersByTime(600)
  await answeredAll()
  expect(off(d.wrapper, 'Approve')).toBe(false)
})

test('must be seen to its end again when new content moves the end out of view', async () => {
  let answer: (r: object) => void = () => {}
  vi.stubGlobal(
    'fetch',
    ((was) => (path: string, init: RequestInit) =>
      path.endsWith('/moves/preview') ? new Promise((done) => (answer = done)) : was(path, init))(fetch),
  )
  const d = dock([tool('Write', { file_path: '/w/a', content: 'a' }, { request_id: 'moves' })])
  arrive()
  vi.advanceTimersByTime(600)
  answer(new globalThis.Response(JSON.stringify(file({ line: 1, before: 'a', after: lines(300) }))))
  await answeredAll()
  expect(d.wrapper.findAll('ins')).toHaveLength(300)
  expect(off(d.wrapper, 'Approve')).toBe(true)
  arrive()
  await nextTick()
  expect(off(d.wrapper, 'Approve')).toBe(false)
})

test('marks split a text into lines and levels', () => {
  const mark = (from: number, to: number, level: RiskMark['level']): RiskMark => ({
    from,
    to,
    kind: 'delete',
    level,
    reason: '',
  })
  expect(segments('ab\ncd', [mark(1, 4, 'medium'), mark(3, 4, 'high')])).toEqual([
    [
      { text: 'a', level: null },
      { text: 'b', level: 'medium' },
    ],
    [
      { text: 'c', level: 'high' },
      { text: 'd', level: null },
    ],
  ])
  expect(segments('a\n', [])).toEqual([[{ text: 'a', level: null }]])
  expect(segments('', [])).toEqual([[]])
  // Said once, the worst first, and what is low only when nothing is worse.
  expect(
    findings('abcd', [mark(0, 1, 'low'), mark(1, 2, 'medium'), mark(2, 3, 'high'), mark(2, 3, 'high')]).map(
      (f) => f.text,
    ),
  ).toEqual(['c', 'b'])
  expect(findings('abcd', [mark(0, 1, 'low')]).map((f) => f.text)).toEqual(['a'])
})

test('the headings of a plan are those that are rendered as headings', () => {
  expect(headings('# A\n```\n# no\n```\n## `B` *c*\ntext # no\n#no\n~~~\n# no')).toEqual([
    { level: 1, text: 'A' },
    { level: 2, text: 'B c' },
  ])
})

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { nextTick } from 'vue'
import { askedDifferently, orphaned, questionAskedDifferently } from '@/testframes'
import { command, file, NOTHING } from '@/testcards'
import { arrive, setMedia } from '@/testsetup'
import { BREAKPOINTS } from '@/ui/breakpoints'
import type { ProcessState, Request } from '@/wire/messages.gen'
import { drafts, live } from './drafts'
import RequestDock from './RequestDock.vue'
import {
  answeredAll,
  armed,
  asked,
  asks,
  button,
  choose,
  dock,
  has,
  key,
  looked,
  newHour,
  NOW,
  off,
  previews,
  question,
  request,
} from './testdock'
import { unsentText } from './unsent'

beforeEach(() => {
  newHour()
  vi.useFakeTimers({ now: NOW })
  localStorage.clear()
})
afterEach(() => {
  setMedia(BREAKPOINTS.narrow, false)
  document.body.innerHTML = ''
  vi.useRealTimers()
})

describe('a tool approval', () => {
  test('is a named group with the whole command, and takes no focus', async () => {
    const d = dock([])
    d.before.focus()
    await d.state([request('a')])
    const card = d.wrapper.find('[role=group]')
    expect(document.getElementById(card.attributes('aria-labelledby')!)?.textContent).toBe('Run a command')
    expect(card.find('pre').text()).toContain('touch a')
    await armed()
    expect(document.activeElement).toBe(d.before)
  })

  test('on a phone can leave the lines of a long command unwrapped', async () => {
    const long = { tool_input: { command: 'cp ' + 'a'.repeat(80) + ' b' } }
    expect(has(dock([request('a', long)]).wrapper, 'Wrap lines')).toBe(false)
    setMedia(BREAKPOINTS.narrow, true)
    expect(has(dock([request('b')]).wrapper, 'Wrap lines')).toBe(false)
    const d = dock([request('c', long)])
    await d.wrapper.find('.bar').trigger('click')
    const wrap = button(d.wrapper, 'Wrap lines')
    // Below the command, which was on screen completely.
    expect(d.wrapper.find('pre').element.compareDocumentPosition(wrap.element)).toBe(Node.DOCUMENT_POSITION_FOLLOWING)
    expect(wrap.attributes('aria-pressed')).toBe('true')
    expect(d.wrapper.find('.sideways').exists()).toBe(false)
    await wrap.trigger('click')
    expect(wrap.attributes('aria-pressed')).toBe('false')
    expect(d.wrapper.find('.sideways pre').text()).toContain('a'.repeat(80))
  })

  test('opens its raw JSON from the menu', async () => {
    const d = dock([request('a')])
    await choose(d.wrapper, 'Raw JSON')
    expect(d.wrapper.find('pre').text()).toContain('"command": "touch a"')
    await button(d.wrapper, 'More actions').trigger('click')
    expect(button(d.wrapper, 'Raw JSON').attributes('aria-pressed')).toBe('true')
  })

  test('with several edits shows each once: failing ones as requested, the others in the file', async () => {
    previews.set(
      'some',
      file({ line: 1, before: 'a\n', after: 'b\n', failing: [{ edit: 1, problem: 'not_found', found: 0 }] }),
    )
    const d = dock([
      request('some', {
        tool_name: 'MultiEdit',
        tool_input: {
          file_path: '/w/a.txt',
          edits: [
            { old_string: 'a', new_string: 'b' },
            { old_string: 'x', new_string: 'y' },
          ],
        },
      }),
    ])
    await armed()
    expect(d.wrapper.findAll('ins').map((el) => el.text())).toEqual([
      expect.stringContaining('b'),
      expect.stringContaining('y'),
    ])
    expect(d.wrapper.text()).toContain('Edit 2 of 2')
    expect(d.wrapper.text()).not.toContain('Edit 1 of 2')
  })

  test('of an MCP server names the server before its tool', () => {
    const d = dock([request('a', { tool_name: 'mcp__tickets__create', tool_input: {} })])
    expect(d.wrapper.find('[role=group] h2').text()).toBe('Use tickets: create')
  })

  test('accepts no decision in its first moments', async () => {
    const d = dock([request('a')])
    arrive()
    await nextTick()
    expect(off(d.wrapper, 'Approve')).toBe(true)
    await button(d.wrapper, 'Approve').trigger('click')
    await key(d.wrapper, 'y')
    vi.advanceTimersByTime(599)
    await key(d.wrapper, 'y')
    expect(d.answers).toEqual([])
    vi.advanceTimersByTime(1)
    await nextTick()
    await button(d.wrapper, 'Approve').trigger('click')
    expect(d.answers).toHaveLength(1)
  })

  test('accepts no decision right after the window got the focus', async () => {
    const d = dock([request('a')])
    await armed()
    window.dispatchEvent(new Event('focus'))
    await nextTick()
    await key(d.wrapper, 'y')
    expect(d.answers).toEqual([])
    vi.advanceTimersByTime(500)
    await nextTick()
    await key(d.wrapper, 'y')
    expect(d.answers).toHaveLength(1)
  })

  test('is not approved before its end was on screen', async () => {
    const d = dock([request('a')])
    vi.advanceTimersByTime(5000)
    await nextTick()
    expect(off(d.wrapper, 'Approve')).toBe(true)
    expect(off(d.wrapper, 'Deny')).toBe(false)
    arrive()
    await nextTick()
    expect(off(d.wrapper, 'Approve')).toBe(false)
  })

  test('approves exactly what was requested', async () => {
    const d = dock([request('a')])
    await armed()
    await button(d.wrapper, 'Approve').trigger('click')
    expect(d.answers).toEqual([
      {
        session_id: 's',
        request_id: 'a',
        request_type: 'tool_approval',
        input_hash: 'sha256:a',
        decision: 'allow',
        undo_ms: 3_000,
      },
    ])
  })

  test('stays busy until a new state no longer contains it', async () => {
    const d = dock([request('a')])
    await armed()
    await button(d.wrapper, 'Approve').trigger('click')
    expect(button(d.wrapper, 'Approve').attributes('aria-busy')).toBe('true')
    await button(d.wrapper, 'Approve').trigger('click')
    await d.ack({ result: 'applied' })
    expect(d.wrapper.find('[role=group]').text()).toContain('Waiting for Claude')
    await button(d.wrapper, 'Approve').trigger('click')
    expect(d.answers).toHaveLength(1)
    await d.state([])
    expect(d.wrapper.find('[data-request-id]').exists()).toBe(false)
  })

  test('says so when no confirmation comes', async () => {
    const d = dock([request('a')])
    await armed()
    await button(d.wrapper, 'Approve').trigger('click')
    vi.advanceTimersByTime(7000)
    await nextTick()
    expect(d.wrapper.text()).toContain('No confirmation yet. Still trying.')
  })

  test('is answered offline, and says that the answer waits', async () => {
    const d = dock([request('a')])
    await armed()
    d.store.setStatus({ kind: 'waiting', since: NOW, retryAt: NOW })
    await nextTick()
    await button(d.wrapper, 'Approve').trigger('click')
    expect(d.wrapper.text()).toContain('Offline. Your answer is sent')
    expect(has(d.wrapper, 'Cancel')).toBe(true)
    // It is not in flight, so there is no spinner yet.
    expect(button(d.wrapper, 'Approve').attributes('aria-busy')).toBeUndefined()
    expect(off(d.wrapper, 'Approve')).toBe(true)
    d.store.setStatus({ kind: 'open' })
    await nextTick()
    expect(button(d.wrapper, 'Approve').attributes('aria-busy')).toBe('true')
  })

  test('is denied in two steps, with a reason', async () => {
    const d = dock([request('a')])
    await armed()
    await button(d.wrapper, 'Deny').trigger('click')
    expect(d.answers).toEqual([])
    const reason = d.wrapper.find('textarea')
    expect(document.activeElement).toBe(reason.element)
    await reason.setValue('Use pnpm')
    await button(d.wrapper, 'Deny').trigger('click')
    expect(d.answers[0]).toMatchObject({ decision: 'deny', message: 'Use pnpm' })
    expect(d.answers[0]).not.toHaveProperty('interrupt')
  })

  test('is denied without a reason, and with an interrupt', async () => {
    const d = dock([request('a')])
    await armed()
    await button(d.wrapper, 'Deny').trigger('click')
    await button(d.wrapper, 'Deny and interrupt').trigger('click')
    expect(d.answers[0]).toMatchObject({ decision: 'deny', interrupt: true })
    expect(d.answers[0]).not.toHaveProperty('message')
  })

  test('runs the edited command', async () => {
    const d = dock([request('a')])
    await armed()
    await choose(d.wrapper, 'Edit')
    await d.wrapper.find('textarea').setValue('touch b')
    expect(d.wrapper.text()).toContain('Edited by you')
    await looked()
    await button(d.wrapper, 'Approve').trigger('click')
    expect(d.answers[0]).toMatchObject({ updated_input: { command: 'touch b', description: 'Make a file' } })
  })

  // Each change of the process sends the session again; the draft stays the same.
  test('can be approved with an edit while the session changes', async () => {
    previews.set('a', NOTHING)
    const before = asked.filter((a) => a.startsWith('POST')).length
    const d = dock([request('a')])
    await armed()
    await choose(d.wrapper, 'Edit')
    await d.wrapper.find('textarea').setValue('touch b')
    await looked()
    expect(off(d.wrapper, 'Approve')).toBe(false)
    await d.state([request('a')], { memory: 1 })
    expect(off(d.wrapper, 'Approve')).toBe(false)
    expect(asked.filter((a) => a.startsWith('POST'))).toHaveLength(before + 1)
  })

  test('keeps what was seen when the preview is unchanged', async () => {
    const write = request('a', { tool_name: 'Write', tool_input: { file_path: '/w/a', content: 'two' } })
    previews.set('a', file({ before: 'one', after: 'two' }))
    const d = dock([write])
    await armed()
    vi.advanceTimersByTime(5_000)
    await d.wrapper.find('[role=group]').trigger('pointerenter')
    await answeredAll()
    expect(off(d.wrapper, 'Approve')).toBe(false)
    previews.set('a', file({ before: 'ones', after: 'two' }))
    vi.advanceTimersByTime(5_000)
    await d.wrapper.find('[role=group]').trigger('pointerenter')
    await answeredAll()
    expect(off(d.wrapper, 'Approve')).toBe(true)
  })

  test('treats an edit without changes as none', async () => {
    const d = dock([request('a')])
    await armed()
    await choose(d.wrapper, 'Edit')
    await button(d.wrapper, 'Approve').trigger('click')
    expect(d.answers[0]).not.toHaveProperty('updated_input')
  })

  test('with invalid JSON cannot be approved, and says where the error is', async () => {
    const d = dock([request('a', { tool_name: 'WebFetch', tool_input: { url: 'https://go.dev' } })])
    await armed()
    await choose(d.wrapper, 'Edit')
    const area = d.wrapper.find('textarea')
    await area.setValue('{\n"url":')
    expect(off(d.wrapper, 'Approve')).toBe(true)
    expect(document.getElementById(area.attributes('aria-describedby')!)?.textContent).toContain('line 2')
    await button(d.wrapper, 'Approve').trigger('click')
    expect(d.answers).toEqual([])
  })

  test('offers rules only once the request was seen', async () => {
    const rule = { type: 'addRules', behavior: 'allow', rules: [{ toolName: 'Bash', ruleContent: 'touch:*' }] }
    const d = dock([request('a', { permission_suggestions: [rule] })])
    await button(d.wrapper, 'Don’t ask again…').trigger('click')
    await d.wrapper.find('input[type=radio]').setValue()
    expect(d.wrapper.find('.body').attributes('hidden')).toBeUndefined()
    expect(off(d.wrapper, 'Approve and allow')).toBe(true)
    await armed()
    await nextTick()
    expect(d.wrapper.find('.body').attributes('hidden')).toBeDefined()
    expect(off(d.wrapper, 'Approve and allow')).toBe(false)
  })

  test('grants a rule only when it is chosen, for this session', async () => {
    const rule = {
      type: 'addRules',
      behavior: 'allow',
      destination: 'localSettings',
      rules: [{ toolName: 'Bash', ruleContent: 'touch:*' }],
    }
    const d = dock([request('a', { permission_suggestions: [rule] })])
    await armed()
    await button(d.wrapper, 'Don’t ask again…').trigger('click')
    expect(d.wrapper.find('.rules').text()).toContain('Bash(touch:*)')
    expect(off(d.wrapper, 'Approve and allow')).toBe(true)
    await d.wrapper.find('input[type=radio]').setValue()
    await armed()
    await button(d.wrapper, 'Approve and allow').trigger('click')
    expect(d.answers[0]).toMatchObject({ updated_permissions: [{ ...rule, destination: 'session' }] })
  })

  describe('with a rule', () => {
    const RULE = {
      type: 'addRules',
      behavior: 'allow',
      destination: 'session',
      rules: [{ toolName: 'Bash', ruleContent: 'touch:*' }],
    }
    async function chosen(id: string, more: Partial<Request> = {}) {
      const d = dock([request(id, { permission_suggestions: [RULE], ...more })])
      await armed()
      await button(d.wrapper, 'Don’t ask again…').trigger('click')
      await d.wrapper.find('input[type=radio]').setValue()
      await armed()
      return d
    }
    type Chosen = Awaited<ReturnType<typeof chosen>>

    test.each<[string, (d: Chosen) => unknown]>([
      ['an edit', (d) => choose(d.wrapper, 'Edit')],
      ['an edit by its shortcut', (d) => key(d.wrapper, 'e')],
      [
        'an edit on another device',
        () => (live.get('request:a')!.value.value = { edit: 'touch b', reason: '', denying: false }),
      ],
    ])('grants none that was chosen before %s', async (_, edit) => {
      const d = await chosen('a')
      await edit(d)
      await nextTick()
      expect(d.wrapper.find('.rules').isVisible()).toBe(false)
      await looked()
      await armed()
      await button(d.wrapper, 'Approve').trigger('click')
      expect(d.answers).toHaveLength(1)
      expect(d.answers[0]).not.toHaveProperty('updated_permissions')
    })

    test('shows the rule while a high risk is confirmed', async () => {
      previews.set('ruled', command('high', [{ from: 0, to: 2, kind: 'delete_tree', level: 'high', reason: '' }]))
      const d = await chosen('ruled', { tool_input: { command: 'rm -rf a' } })
      await button(d.wrapper, 'Approve and allow').trigger('click')
      expect(d.wrapper.find('.body').attributes('hidden')).toBeUndefined()
      expect(d.wrapper.find('.rules').isVisible()).toBe(true)
      const field = d.wrapper.find('.high-risk input')
      await field.setValue('rm')
      await field.trigger('keydown', { key: 'Enter' })
      expect(d.answers).toMatchObject([{ decision: 'allow', updated_permissions: [RULE] }])
    })

    const offered = () => document.body.textContent.includes('Claude no longer asks for')

    test('offers to revoke it once it is granted', async () => {
      const d = await chosen('a')
      await button(d.wrapper, 'Approve and allow').trigger('click')
      expect(offered()).toBe(false)
      await d.ack({})
      await d.state([])
      expect(offered()).toBe(true)
    })

    test.each(['denied', 'approved without it'])(
      'does not offer to revoke it if the request is %s after an undo',
      async (how) => {
        const d = await chosen('a', { risk: 'medium' })
        await button(d.wrapper, 'Approve and allow').trigger('click')
        const held = { by: 'ada', mine: true, decision: 'allow' as const, at: NOW / 1000, until: NOW / 1000 + 3 }
        await d.ack({ held_until: held.until })
        await d.state([request('a', { held })])
        await d.state([request('a')])
        await armed()
        if (how === 'denied') await button(d.wrapper, 'Deny').trigger('click')
        await button(d.wrapper, how === 'denied' ? 'Deny' : 'Approve').trigger('click')
        expect(d.answers).toHaveLength(2)
        await d.ack({})
        await d.state([])
        await answeredAll()
        expect(offered()).toBe(false)
      },
    )
  })

  test('marks hidden characters', () => {
    const d = dock([request('a', { tool_input: { command: 'rm \u202e/x' } })])
    expect(d.wrapper.text()).toContain('1 hidden character is marked')
    expect(d.wrapper.find('pre').text()).toContain('RLO')
  })

  test('shows the risk of what would run in its header, from the start', async () => {
    const { wrapper, state } = dock([request('risky', { risk: 'high', tool_input: { command: 'rm -rf x' } })])
    expect(wrapper.get('header .risk').text()).toBe('High risk')
    previews.set('risky', command('low'))
    await choose(wrapper, 'Edit')
    await wrapper.get('textarea').setValue('ls')
    await looked()
    expect(wrapper.find('header .risk').exists()).toBe(false)
    await state([request('calm', { risk: 'low' })])
    expect(wrapper.find('header .risk').exists()).toBe(false)
  })

  test('shows the timeout of a command as a readable duration', () => {
    const { wrapper } = dock([request('a', { tool_input: { command: 'make', timeout: 600_000 } })])
    expect(wrapper.text()).toContain('times out after 10 min')
  })

  test('shows one of several withdrawn requests while others are open, and the last three afterwards', async () => {
    const all = ['a', 'b', 'c', 'd', 'e'].map((id) => request(id, { tool_name: `Tool-${id}` }))
    const { wrapper, state } = dock(all)
    await state(all.slice(4))
    expect(wrapper.findAll('.notice')).toHaveLength(1)
    await state([])
    expect(wrapper.findAll('.notice').map((n) => /Tool-(.)/.exec(n.text())?.[1])).toEqual(['c', 'd', 'e'])
  })

  test('does not say that a failing edit changes nothing', async () => {
    previews.set('fails', file({ state: 'same', failing: [{ edit: 0, problem: 'not_found', found: 0 }] }))
    const again = dock([
      request('fails', { tool_name: 'Edit', tool_input: { file_path: '/w/a', old_string: 'a', new_string: 'b' } }),
    ])
    await armed()
    expect(again.wrapper.text()).toContain('Text not found')
    expect(again.wrapper.text()).not.toContain('Nothing would be different')
  })

  test.each(['constructor', '__proto__', 'toString'])(
    'of a tool named %s is shown and decided like any other',
    async (tool) => {
      const d = dock([request('a', { tool_name: tool, tool_input: { query: 'weather' } })])
      await armed()
      expect(d.wrapper.text()).toContain('weather')
      await button(d.wrapper, 'Approve').trigger('click')
      expect(d.answers).toHaveLength(1)
    },
  )

  test('names the agent that asks', () => {
    const d = dock([request('a', { agent_id: 'x', agent_type: 'Explore' })])
    expect(d.wrapper.text()).toContain('asked by Explore')
  })

  test('shows a refusal of the server, and can be answered again', async () => {
    const d = dock([request('a')])
    await armed()
    await button(d.wrapper, 'Approve').trigger('click')
    await d.ack({ result: 'rejected', error: { code: 'x', message: 'The command is too long.' } })
    expect(d.wrapper.text()).toContain('The command is too long.')
    // It counts as just shown.
    await button(d.wrapper, 'Approve').trigger('click')
    expect(d.answers).toHaveLength(1)
    await armed()
    await button(d.wrapper, 'Approve').trigger('click')
    expect(d.answers).toHaveLength(2)
  })

  test('can be seen but not answered by a viewer', async () => {
    const d = dock([request('a')], 'viewer')
    await armed()
    expect(has(d.wrapper, 'Approve')).toBe(false)
    expect(d.wrapper.text()).toContain('You can’t answer this request')
    await key(d.wrapper, 'y')
    expect(d.answers).toEqual([])
  })
})

describe('keys', () => {
  test('y approves, n opens the reason, Ctrl+Enter sends it', async () => {
    const d = dock([request('a')])
    await armed()
    await key(d.wrapper, 'n')
    expect(d.answers).toEqual([])
    await d.wrapper.find('textarea').trigger('keydown', { key: 'Enter', ctrlKey: true })
    expect(d.answers[0]).toMatchObject({ decision: 'deny' })
  })

  test.each([
    ['a repeat', { repeat: true }],
    ['composing', { isComposing: true }],
    ['with Ctrl', { ctrlKey: true }],
    ['with Alt', { altKey: true }],
  ])('%s decides nothing', async (_, more) => {
    const d = dock([request('a')])
    await armed()
    await key(d.wrapper, 'y', more)
    expect(d.answers).toEqual([])
  })

  test('y typed into a field is a letter', async () => {
    const d = dock([request('a')])
    await armed()
    await choose(d.wrapper, 'Edit')
    await d.wrapper.find('textarea').trigger('keydown', { key: 'y' })
    await d.wrapper.find('textarea').trigger('keydown', { key: 'Enter' })
    expect(d.answers).toEqual([])
  })

  test('Escape never decides', async () => {
    const d = dock([request('a'), asks('q', [question('q1', 'select', ['A'])])])
    await armed()
    for (const card of d.wrapper.findAll('section[role=group]')) await card.trigger('keydown', { key: 'Escape' })
    await button(d.wrapper, 'Deny').trigger('click')
    await d.wrapper.find('textarea').trigger('keydown', { key: 'Escape' })
    expect(d.answers).toEqual([])
    expect(d.wrapper.find('textarea').exists()).toBe(false)
  })

  test('y does nothing outside a card', async () => {
    const d = dock([request('a')])
    await armed()
    for (const k of ['y', 'Enter', ' ', '1', 'n'])
      d.before.dispatchEvent(new KeyboardEvent('keydown', { key: k, bubbles: true }))
    expect(d.answers).toEqual([])
  })

  test('after a decision no other card gets the focus, and no key decides it before the person asks for it', async () => {
    const d = dock([request('a'), request('b')])
    await armed()
    await d.focusFirst()
    vi.advanceTimersByTime(600)
    await nextTick()
    await key(d.wrapper, 'y')
    await d.ack({ result: 'applied' })
    await d.state([request('b')])
    await nextTick()
    const at = () => document.activeElement as HTMLElement
    expect(at().closest('[data-request-id]')).toBeNull()
    expect(at().textContent).toContain('Approved')
    for (const wait of [0, 100, 1_600, 5_000]) {
      vi.advanceTimersByTime(wait)
      for (const k of ['y', 'Enter', ' ', 'n'])
        at().dispatchEvent(new KeyboardEvent('keydown', { key: k, bubbles: true, cancelable: true }))
      await nextTick()
    }
    expect(d.answers).toHaveLength(1)
    await d.focusFirst()
    await answeredAll()
    expect(at().dataset['requestId']).toBe('b')
    await key(d.wrapper, 'y')
    expect(d.answers).toHaveLength(1)
    await armed()
    await key(d.wrapper, 'y')
    expect(d.answers).toHaveLength(2)
  })

  test('after the last decision the focus returns to the composer', async () => {
    const d = dock([request('a')])
    await d.focusFirst()
    await armed()
    await key(d.wrapper, 'y')
    await d.ack({ result: 'applied' })
    await d.state([])
    await nextTick()
    expect(document.activeElement).toBe(d.before)
  })
})

describe('a plan', () => {
  const plan = () => request('p', { tool_name: 'ExitPlanMode', tool_input: { plan: '# Plan\n\n1. first' } })

  test.each([
    ['Approve and ask before edits', 'default'],
    ['Approve and accept edits', 'acceptEdits'],
  ])('%s', async (name, mode) => {
    const d = dock([plan()])
    await armed()
    if (mode === 'acceptEdits') await button(d.wrapper, 'Other ways to approve').trigger('click')
    await armed()
    await button(d.wrapper, name).trigger('click')
    expect(d.answers[0]).toMatchObject({
      decision: 'allow',
      updated_permissions: [{ type: 'setMode', mode, destination: 'session' }],
    })
  })

  test('keeps planning with the requested changes', async () => {
    const d = dock([plan()])
    await armed()
    await button(d.wrapper, 'Keep planning').trigger('click')
    await d.wrapper.find('textarea').setValue('smaller steps')
    await button(d.wrapper, 'Keep planning').trigger('click')
    expect(d.answers[0]).toMatchObject({ decision: 'deny', message: 'smaller steps' })
  })
})

describe('questions', () => {
  const two = () =>
    asks('q', [
      question('Format', 'select', ['Summary', 'Detailed']),
      question('Parts', 'multi_select', ['API', 'Web']),
    ])

  test('are fieldsets of native controls with names', () => {
    const d = dock([two()])
    const sets = d.wrapper.findAll('fieldset')
    expect(sets.map((s) => s.find('legend').text())).toEqual([
      expect.stringContaining('What of Format?'),
      expect.stringContaining('What of Parts?'),
    ])
    expect(sets[0]!.findAll('input[type=radio]')).toHaveLength(3)
    expect(sets[1]!.findAll('input[type=checkbox]')).toHaveLength(3)
    for (const input of d.wrapper.findAll('input')) expect(input.element.closest('label')?.textContent).toMatch(/\w/)
  })

  test('cannot be sent empty, by any means', async () => {
    const d = dock([two()])
    await armed()
    expect(off(d.wrapper, 'Answer 2 more')).toBe(true)
    await button(d.wrapper, 'Answer 2 more').trigger('click')
    await d.wrapper.find('form').trigger('submit')
    await key(d.wrapper, 'Enter', { ctrlKey: true })
    await key(d.wrapper, 'Escape')
    expect(d.answers).toEqual([])
  })

  test('move the focus to the missing answer when they are sent', async () => {
    const d = dock([two()])
    await armed()
    await d.wrapper.findAll('input')[0]!.setValue()
    await key(d.wrapper, 'Enter', { ctrlKey: true })
    expect(d.wrapper.findAll('fieldset')[1]!.element.contains(document.activeElement)).toBe(true)
    expect(d.wrapper.findAll('fieldset')[1]!.text()).toContain('Answer this question.')
    expect(d.wrapper.findAll('fieldset')[0]!.text()).not.toContain('Answer this question.')
  })

  test('are sent by id with all chosen options', async () => {
    const d = dock([two()])
    await armed()
    const [summary, , , api, web] = d.wrapper.findAll('input')
    await summary!.setValue()
    await web!.setValue()
    await api!.setValue()
    await button(d.wrapper, 'Send answers').trigger('click')
    expect(d.answers[0]).toMatchObject({
      request_type: 'ask_user_question',
      decision: 'allow',
      responses: [
        { id: 'Format', values: ['Summary'] },
        { id: 'Parts', values: ['API', 'Web'] },
      ],
    })
  })

  test('show a field for Other, which gets the focus and must not be blank', async () => {
    const d = dock([asks('q', [question('Format', 'select', ['Summary'])])])
    await armed()
    await d.wrapper.findAll('input')[1]!.setValue()
    await nextTick()
    const field = d.wrapper.find('textarea')
    expect(document.activeElement).toBe(field.element)
    await field.setValue('   ')
    expect(off(d.wrapper, 'Send answers')).toBe(true)
    await field.setValue('a table')
    await button(d.wrapper, 'Send answers').trigger('click')
    expect(d.answers[0]).toMatchObject({ responses: [{ id: 'Format', values: [], text: 'a table' }] })
  })

  test('are answered by digits in the first open question, with 0 for Other', async () => {
    const d = dock([two()])
    await armed()
    await key(d.wrapper, '2')
    expect(d.wrapper.findAll('input')[1]!.element.checked).toBe(true)
    await key(d.wrapper, '9')
    d.wrapper.findAll('input')[3]!.element.focus()
    await key(d.wrapper, '1')
    expect(d.wrapper.findAll('input')[3]!.element.checked).toBe(true)
    expect(d.answers).toEqual([])
  })

  test('have no default for a confirm', async () => {
    const d = dock([asks('q', [question('Go', 'confirm', [], { free_text: false })])])
    await armed()
    expect(d.wrapper.findAll('input:checked')).toHaveLength(0)
    await d.wrapper.findAll('input')[1]!.setValue()
    await button(d.wrapper, 'Send answers').trigger('click')
    expect(d.answers[0]).toMatchObject({ responses: [{ id: 'Go', values: ['no'] }] })
  })

  test('are answered and kept whatever their ids are', async () => {
    const ids = ['constructor', '__proto__', 'hasOwnProperty', '__v_skip', 'valueOf']
    const form = () =>
      asks(
        'q',
        ids.map((id) => question(id, 'text', [])),
      )
    const first = dock([form()])
    await armed()
    const fields = first.wrapper.findAll('textarea')
    for (const [i, field] of fields.entries()) await field.setValue(`answer ${i}`)
    first.wrapper.unmount()
    const d = dock([form()])
    await armed()
    expect(d.wrapper.findAll('textarea').map((f) => f.element.value)).toEqual(ids.map((_, i) => `answer ${i}`))
    await button(d.wrapper, 'Send answers').trigger('click')
    expect(d.answers[0]).toMatchObject({
      responses: ids.map((id, i) => ({ id, values: [], text: `answer ${i}` })),
    })
  })

  test('are declined in two steps', async () => {
    const d = dock([two()])
    await armed()
    await button(d.wrapper, 'Decline').trigger('click')
    expect(d.answers).toEqual([])
    await d.wrapper.find('.deny textarea').setValue('decide yourself')
    await button(d.wrapper, 'Decline').trigger('click')
    expect(d.answers[0]).toMatchObject({ decision: 'deny', message: 'decide yourself' })
    expect(d.answers[0]).not.toHaveProperty('responses')
  })

  test('that cannot be parsed can only be declined', () => {
    const d = dock([asks('q', [])])
    expect(has(d.wrapper, 'Send answers')).toBe(false)
    expect(has(d.wrapper, 'Decline')).toBe(true)
  })

  test('show markup as text', () => {
    const d = dock([asks('q', [question('Format', 'select', ['<img src=x onerror=alert(1)>'])])])
    expect(d.wrapper.find('img').exists()).toBe(false)
    expect(d.wrapper.text()).toContain('<img src=x')
  })
})

describe('drafts', () => {
  test('a half-filled form survives a reload', async () => {
    const form = () => asks('q', [question('Format', 'select', ['Summary']), question('Name', 'text', [])])
    const first = dock([form()])
    await first.wrapper.find('input').setValue()
    await first.wrapper.find('textarea').setValue('v1')
    first.wrapper.unmount()
    const again = dock([form()])
    expect(again.wrapper.find('input').element.checked).toBe(true)
    expect(again.wrapper.find('textarea').element.value).toBe('v1')
    expect(document.activeElement).toBe(document.body)
  })

  test('an edit and a reason survive a reload', async () => {
    const first = dock([request('a')])
    await armed()
    await choose(first.wrapper, 'Edit')
    await first.wrapper.find('textarea').setValue('touch b')
    await button(first.wrapper, 'Deny').trigger('click')
    await first.wrapper.find('.deny textarea').setValue('why')
    first.wrapper.unmount()
    const again = dock([request('a')])
    expect(again.wrapper.findAll('textarea').map((a) => a.element.value)).toEqual(['touch b', 'why'])
  })

  test('an acknowledged answer is no longer a draft', async () => {
    const d = dock([request('a')])
    await armed()
    await choose(d.wrapper, 'Edit')
    await d.wrapper.find('textarea').setValue('touch b')
    await looked()
    await button(d.wrapper, 'Approve').trigger('click')
    await d.ack({ result: 'applied' })
    await d.state([])
    expect(Object.keys(localStorage)).toEqual([])
    vi.advanceTimersByTime(10_000)
    await nextTick()
    expect(d.wrapper.text()).toBe('')
  })
})

describe('a request that another person answered', () => {
  const who = { outcome: 'denied' as const, by: 'Grace', device: 'Pixel 9 (Chrome)', summary: 'Denied' }
  const record = () => ({
    ...who,
    seq: 1,
    rev: 1,
    key: 'k',
    at: NOW / 1000,
    agent_id: null,
    kind: 'resolved' as const,
    request_id: 'a',
    request_type: 'tool_approval',
    tool_name: 'Bash',
    waited: 1,
  })
  const tell = (d: ReturnType<typeof dock>) =>
    d.store.apply(
      [{ type: 'transcript', session_id: 's', from: 0, next: 1, items: [record()], total: 1, live: null }],
      { now: Date.now(), commandOf: () => undefined },
    )

  test('says who answered, where and what, and disappears after a while', async () => {
    const d = dock([request('a')])
    tell(d)
    await d.state([])
    expect(d.wrapper.text()).toContain('Answered by Grace on Pixel 9 (Chrome) just now: Denied.')
    vi.advanceTimersByTime(7000)
    await nextTick()
    expect(d.wrapper.text()).toBe('')
  })

  test('keeps the draft until it is used or dismissed', async () => {
    const d = dock([request('a')])
    await armed()
    await button(d.wrapper, 'Deny').trigger('click')
    await d.wrapper.find('textarea').setValue('use pnpm')
    tell(d)
    await d.state([])
    vi.advanceTimersByTime(60_000)
    await nextTick()
    const kept = d.wrapper.findComponent(RequestDock)
    await button(d.wrapper, 'Keep my text').trigger('click')
    expect(kept.emitted('keep')).toEqual([['use pnpm']])
    expect(d.wrapper.text()).toBe('')
  })

  test.each(['constructor', '__proto__'])('keeps no default of a question with the id %s', (id) => {
    const asked = asks('q', [question(id, 'text', [], { default: ['1'] })])
    drafts.set('request:q', { form: {}, reason: '', denying: false })
    expect(unsentText(asked)).toBeNull()
  })

  test('says who was first when the answer was too late', async () => {
    const d = dock([request('a')])
    await armed()
    await button(d.wrapper, 'Approve').trigger('click')
    await d.state([])
    expect(d.wrapper.text()).not.toContain('Approved')
    await d.ack({ result: 'already_resolved', resolved: { ...who, at: NOW / 1000 } })
    expect(d.wrapper.text()).toContain('Answered by Grace on Pixel 9 (Chrome) just now: Denied.')
  })

  test('shows an early acknowledgment in the card and disables its buttons', async () => {
    const d = dock([request('a')])
    await armed()
    await button(d.wrapper, 'Approve').trigger('click')
    await d.ack({ result: 'stale', error: { code: 'not_found', message: 'x' } })
    expect(d.wrapper.text()).toContain('This request is no longer open. Nothing was sent.')
    expect(off(d.wrapper, 'Approve')).toBe(true)
  })

  test('distinguishes withdrawn requests from those of a dead process', async () => {
    const d = dock([request('a'), request('b')])
    d.store.apply(
      [
        {
          type: 'transcript',
          session_id: 's',
          from: 0,
          next: 1,
          total: 1,
          live: null,
          items: [{ ...record(), outcome: 'withdrawn', by: undefined as never, summary: '' }],
        },
      ],
      { now: Date.now(), commandOf: () => undefined },
    )
    await d.state([request('b')])
    expect(d.wrapper.text()).toContain('Claude withdrew this request.')
    await d.state([], { state: 'dead', error: 'Exit code 1.' })
    expect(d.wrapper.text()).toContain('The Claude process stopped before you answered. Nothing ran. Exit code 1.')
  })
})

test('several requests are all shown, oldest first, and answered in any order', async () => {
  const d = dock([request('a'), request('b'), request('c')])
  await armed()
  const cards = d.wrapper.findAll<HTMLElement>('section[role=group]')
  expect(cards.map((c) => c.element.dataset['requestId'])).toEqual(['a', 'b', 'c'])
  for (const card of cards.toReversed()) await card.find('.approve').trigger('click')
  expect(d.answers.map((a) => a.request_id)).toEqual(['c', 'b', 'a'])
})

test('an answer of another tab leaves the drafts of other requests alone', async () => {
  const d = dock([request('a'), asks('q', [question('Name', 'text', [])])])
  await d.wrapper.find('textarea').setValue('v1')
  await d.state([asks('q', [question('Name', 'text', [])])])
  expect(d.wrapper.find('textarea').element.value).toBe('v1')
})

describe('requests of a process that died', () => {
  const left = (id: string, more: Partial<Request> = {}) => request(id, { status: 'orphaned', ...more })
  const dead = (): Partial<ProcessState> => ({
    state: 'dead',
    error: 'Claude ended by itself.',
    state_changed_at: NOW / 1000 - 60,
  })
  const died = async (requests: Request[]) => {
    const d = dock([])
    await d.state(requests, dead())
    await armed()
    return d
  }

  test('explain what happened, and can still be answered', async () => {
    const d = await died(orphaned().pending_requests)
    expect(d.wrapper.findAll('section[role=group]')).toHaveLength(2)
    expect(d.wrapper.text()).toContain('Claude stopped before you answered. Nothing ran. You can still answer')
    await button(d.wrapper, 'Approve').trigger('click')
    expect(d.answers).toHaveLength(1)
    await d.ack({ result: 'applied' })
    expect(d.wrapper.find('[role=group]').text()).toContain('Resuming Claude with your answer…')
  })

  test('resume Claude when answered, and say so until Claude runs', async () => {
    const d = await died([left('a')])
    await button(d.wrapper, 'Approve').trigger('click')
    await d.ack({ result: 'applied' })
    await d.state([], dead())
    expect(d.wrapper.find('[role=group]').attributes('aria-label')).toBe('Answered: Run a command')
    expect(d.wrapper.text()).toContain('Resuming Claude with your answer…')
    await d.state([], { state: 'starting' })
    expect(d.wrapper.text()).toContain('Resuming Claude with your answer…')
    await d.state([], { state: 'assistant_turn' })
    expect(d.wrapper.text()).not.toContain('Resuming')
  })

  test('keep their answer when nobody resumes', async () => {
    const d = await died([left('a')])
    await button(d.wrapper, 'Approve').trigger('click')
    await d.ack({ result: 'applied' })
    await d.state([], dead())
    vi.advanceTimersByTime(16_000)
    await nextTick()
    expect(d.wrapper.text()).toContain('Answer saved. Claude gets it when this session resumes.')
    await button(d.wrapper, 'Dismiss').trigger('click')
    expect(d.wrapper.text()).toBe('')
  })

  test('answered in another tab do not say that the process stopped before the answer', async () => {
    const d = await died([left('a')])
    await d.state([], dead())
    expect(d.wrapper.text()).toContain('This was answered elsewhere, or Claude no longer needs an answer.')
    expect(d.wrapper.text()).not.toContain('Resuming')
  })

  test('pass a draft on to the same question of the next process', async () => {
    const d = await died([left('a', { input_hash: 'sha256:same' })])
    await button(d.wrapper, 'Deny').trigger('click')
    await d.wrapper.find('textarea').setValue('use pnpm')
    await d.state([], { state: 'assistant_turn' })
    await d.state([request('b', { input_hash: 'sha256:same' })])
    const [card, ...more] = d.wrapper.findAll('[role=group]')
    expect(more).toEqual([])
    expect(card!.attributes('data-request-id')).toBe('b')
    expect(card!.find('textarea').element.value).toBe('use pnpm')
    expect(d.answers).toEqual([])
  })

  test('show the answer to a similar request next to the new one', async () => {
    const d = dock([])
    await d.state(askedDifferently().pending_requests)
    await armed()
    expect(d.wrapper.find('.earlier').text()).toContain(
      'Before Claude stopped, Ada answered a similar request: Approved',
    )
    expect(d.wrapper.find('.earlier pre').exists()).toBe(false)
    await button(d.wrapper, 'Earlier request').trigger('click')
    expect(d.wrapper.find('.earlier ins').text()).toContain('/cache')
    expect(button(d.wrapper, 'Earlier request').attributes('aria-expanded')).toBe('true')
    await key(d.wrapper, 'y')
    expect(d.answers).toMatchObject([{ request_id: '44444444-4444-5444-8444-444444444444', decision: 'allow' }])
  })

  test('explain why they are asked again when Claude may have received the answer', async () => {
    const d = dock([])
    const [r] = askedDifferently().pending_requests
    await d.state([{ ...r!, earlier: { ...r!.earlier!, tool_input: r!.tool_input } }])
    const text = d.wrapper.find('.earlier').text()
    expect(text).toContain('Before Claude stopped, Ada answered this request: Approved')
    expect(text).toContain('Claude may have acted on that answer before it stopped.')
    expect(d.wrapper.find('.earlier button').exists()).toBe(false)
    expect(d.answers).toEqual([])
  })

  test('mark hidden characters in the earlier answer and show markup as text', async () => {
    const d = dock([])
    const [r] = askedDifferently().pending_requests
    await d.state([
      {
        ...r!,
        earlier: { ...r!.earlier!, tool_input: { command: 'rm \u202e<img src=x>' }, summary: '<b>Approved</b>' },
      },
    ])
    await button(d.wrapper, 'Earlier request').trigger('click')
    expect(d.wrapper.find('.earlier del .hidden-character').text()).toContain('RLO')
    expect(d.wrapper.find('.earlier img').exists()).toBe(false)
    expect(d.wrapper.find('.earlier b').exists()).toBe(false)
  })

  test('show who answered a similar question, and how', async () => {
    const d = dock([])
    await d.state(questionAskedDifferently().pending_requests)
    expect(d.wrapper.find('.earlier').text()).toContain(
      'Before Claude stopped, someone answered a similar question: Declined: decide yourself',
    )
    await button(d.wrapper, 'Earlier request').trigger('click')
    expect(d.wrapper.find('.earlier').text()).toContain('Which form?')
    expect(d.wrapper.find('.earlier').text()).toContain('Short · Long')
  })
})

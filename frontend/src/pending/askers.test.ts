import { flushPromises, type VueWrapper } from '@vue/test-utils'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { nextTick } from 'vue'
import { engine } from '@/text/engine'
import { RefusedError, rest } from '@/connection/rest'
import type { Question, Request } from '@/wire/messages.gen'
import { shown } from '@/text/hidden'
import { lineOf } from './title'
import { armed, asks, button, dock, has, key, newHour, NOW, off, question, request } from './testdock'

// Requests of askers other than a session's own Claude, and forms of every kind.

beforeEach(() => {
  newHour()
  vi.useFakeTimers({ now: NOW })
  localStorage.clear()
  vi.spyOn(rest, 'pending').mockRejectedValue(new RefusedError(404, 'not_found', '', null))
})
afterEach(() => {
  document.body.innerHTML = ''
  vi.useRealTimers()
})

const mcp = (id: string, questions: Question[], more: Partial<Request> = {}) =>
  asks(id, questions, { source: 'mcp', tool_name: 'mcp__sayso__ask_user', ...more })
const elicits = (input: object, questions: Question[] = [], more: Partial<Request> = {}) =>
  asks('e', questions, { source: 'elicitation', tool_name: 'billing', tool_input: input, ...more })
const closesIn = (seconds: number) => ({ created_at: NOW / 1000, expires_at: NOW / 1000 + seconds })
const legend = (w: VueWrapper, i = 0) => w.findAll('legend')[i]!.text()
const tick = async (ms: number) => {
  await vi.advanceTimersByTimeAsync(ms)
  await nextTick()
}
/** The name of a card, as it is read out. */
const name = (w: VueWrapper, id: string) => {
  const card = w.find(`[data-request-id=${id}]`)
  return document.getElementById(card.attributes('aria-labelledby')!)!.textContent
}

describe('the asker', () => {
  test('is always named', () => {
    const all = [
      request('a'),
      mcp('own', [question('q', 'text', [])]),
      mcp('agent', [question('q', 'text', [])], { asker: 'agent Reviewer over MCP' }),
      request('hook', { source: 'hook', asker: 'terminal on ada-laptop' }),
      elicits({ mode: 'form', message: 'Pay?' }, [question('q', 'confirm', [])]),
    ]
    const d = dock(all)
    expect(d.wrapper.findAll('.asker').map((a) => a.text())).toEqual([
      'Claude in Fix it',
      'Claude in Fix it',
      'agent Reviewer over MCP',
      'terminal on ada-laptop',
      'MCP server billing through Claude',
    ])
    expect(['own', 'agent', 'hook', 'e'].map((id) => name(d.wrapper, id))).toEqual([
      'Claude has a question',
      'The agent has a question',
      'Run a command',
      'An MCP server requests input',
    ])
  })

  test('of a session without a title is named by the folder', async () => {
    const d = dock([])
    await d.state([request('a')], { title: '', cwd: '/home/ada/api-server' })
    expect(d.wrapper.find('.asker').text()).toBe('Claude in api-server')
  })

  test('has a form for each of its questions', async () => {
    const d = dock([
      mcp('a', [question('Name', 'text', [])]),
      mcp('b', [question('Name', 'text', [])], { asker: 'agent Reviewer over MCP' }),
    ])
    await armed()
    const [one, two] = d.wrapper.findAll('textarea')
    await one!.setValue('for Claude')
    await two!.setValue('for the agent')
    await d.wrapper.findAll('section[role=group]')[1]!.trigger('keydown', { key: 'Enter', ctrlKey: true })
    expect(d.answers).toMatchObject([{ request_id: 'b', responses: [{ id: 'Name', text: 'for the agent' }] }])
    await d.ack({ result: 'applied' })
    await d.state([mcp('a', [question('Name', 'text', [])])])
    expect(d.wrapper.find('textarea').element.value).toBe('for Claude')
  })

  test('cannot hide behind invisible characters', () => {
    const d = dock([
      mcp('a', [question('q', 'text', [])], {
        asker: 'agent \u202eX',
        form: { title: 'Sh\u200bip', questions: [question('q', 'text', [])] },
      }),
    ])
    expect(d.wrapper.find('.asker').text()).toContain('RLO')
    expect(name(d.wrapper, 'a')).toBe('Sh[ZWSP]ip')
  })
})

test('the line of a list is plain text, with every hidden character in brackets', () => {
  const line = (q: string) => shown(lineOf(mcp('a', [question('q', 'text', [], { question: q })])))
  expect(line('Use **Go** or `zig`,\nsay?')).toBe('Use Go or zig, say?')
  expect(line('May I run \u202egnp.exe? 2 ** 3')).toBe('May I run [RLO]gnp.exe? 2 ** 3')
})

describe('a form', () => {
  test('shows its title, its progress and which answers are required', async () => {
    const questions = [...Array(10).keys()].map((i) =>
      question('q' + i, i % 2 ? 'text' : 'select', i % 2 ? [] : ['A', 'B'], { required: i !== 9 }),
    )
    const d = dock([mcp('a', questions, { form: { title: 'Release', questions } })])
    await armed()
    expect(name(d.wrapper, 'a')).toBe('Release')
    expect(d.wrapper.find('.progress').text()).toBe('0 of 10 answered')
    expect(legend(d.wrapper)).toContain('1 of 10')
    expect(legend(d.wrapper)).toContain('(required)')
    expect(legend(d.wrapper, 9)).toContain('(optional)')
    await d.wrapper.find('input[type=radio]').setValue()
    await d.wrapper.find('textarea').setValue('x')
    expect(d.wrapper.find('.progress').text()).toBe('2 of 10 answered')
    expect(off(d.wrapper, 'Answer 7 more')).toBe(true)
  })

  test('of Claude’s own tool does not mark every question as required', () => {
    const d = dock([asks('q', [question('Format', 'select', ['A'])])])
    expect(d.wrapper.text()).not.toContain('(required)')
  })

  test('without free text has no Other', () => {
    const d = dock([mcp('a', [question('q', 'select', ['A', 'B'], { free_text: false })])])
    expect(d.wrapper.findAll('input')).toHaveLength(2)
    expect(d.wrapper.text()).not.toContain('Other')
  })

  test('shows the placeholder of a text field', () => {
    const d = dock([mcp('a', [question('q', 'text', [], { placeholder: 'v1.2' })])])
    expect(d.wrapper.find('textarea').attributes('placeholder')).toBe('v1.2')
  })

  test('allows Other next to chosen options, but for Claude instead of them', async () => {
    const q = question('q', 'multi_select', ['A', 'B'])
    for (const [r, checked] of [
      [mcp('a', [q]), [true, true]],
      [asks('c', [q]), [false, true]],
    ] as const) {
      const d = dock([r])
      await d.wrapper.findAll('input')[0]!.setValue()
      await d.wrapper.findAll('input')[2]!.setValue()
      expect([0, 2].map((i) => d.wrapper.findAll('input')[i]!.element.checked)).toEqual(checked)
      d.wrapper.unmount()
    }
  })

  test('lets an optional choice be cleared', async () => {
    const d = dock([mcp('a', [question('q', 'select', ['A'], { required: false }), question('r', 'text', [])])])
    await d.wrapper.find('input').setValue()
    await button(d.wrapper, 'Clear: What of q?').trigger('click')
    expect(d.wrapper.findAll('input:checked')).toHaveLength(0)
    expect(has(d.wrapper, 'Clear: What of q?')).toBe(false)
  })

  test('with a confirm has two buttons, neither of them chosen', async () => {
    const d = dock([mcp('a', [question('q', 'confirm', [], { free_text: false })])])
    await armed()
    expect(d.wrapper.findAll('.confirm label').map((l) => l.find('.label').text())).toEqual(['Yes', 'No'])
    expect(d.wrapper.findAll('input:checked')).toHaveLength(0)
    expect(off(d.wrapper, 'Send answers')).toBe(true)
    await key(d.wrapper, '1')
    await button(d.wrapper, 'Send answers').trigger('click')
    expect(d.answers[0]).toMatchObject({ responses: [{ id: 'q', values: ['yes'] }] })
  })

  test('shows the preview of the chosen option as inert Markdown', async () => {
    engine.value = await import('@/text/markdown')
    const q = question('q', 'select', ['A', 'B'])
    q.options[0]!.preview = '# One'
    q.options[1]!.preview = '**Two** [x](https://evil.example) ![i](https://evil.example/i.png) <b>raw</b>'
    const d = dock([mcp('a', [q])])
    await nextTick()
    expect(d.wrapper.find('figcaption').text()).toBe('Preview of A')
    await d.wrapper.findAll('input')[1]!.setValue()
    await nextTick()
    const preview = d.wrapper.find('.preview')
    expect(preview.find('figcaption').text()).toBe('Preview of B')
    expect(preview.find('strong').text()).toBe('Two')
    expect(preview.find('a, img, b').exists()).toBe(false)
    expect(preview.text()).toContain('x (https://evil.example)')
  })

  test('renders questions and descriptions inertly, with hidden characters shown', async () => {
    engine.value = await import('@/text/markdown')
    const q = question('q', 'select', ['A\u202e'], {
      question: 'Use `go` **now**?\u200b',
      description: 'See [here](javascript:alert(1))',
    })
    q.options[0]!.description = '*light*'
    const d = dock([mcp('a', [q])])
    await nextTick()
    expect(d.wrapper.find('legend code').text()).toBe('go')
    expect(d.wrapper.find('legend').text()).toContain('ZWSP')
    expect(d.wrapper.find('.about a').exists()).toBe(false)
    expect(d.wrapper.find('.description em').text()).toBe('light')
    expect(d.wrapper.find('.option .label').text()).toContain('RLO')
  })

  test('is declined in two steps, with a message for the asker', async () => {
    const d = dock([mcp('a', [question('q', 'text', [])], { asker: 'agent Reviewer over MCP' })])
    await armed()
    await button(d.wrapper, 'Decline').trigger('click')
    expect(d.wrapper.find('.deny label').text()).toBe('Message for the agent (optional)')
    expect(d.answers).toEqual([])
    await button(d.wrapper, 'Decline').trigger('click')
    expect(d.answers[0]).toMatchObject({ decision: 'deny' })
  })
})

describe('an elicitation', () => {
  const day = question('day', 'text', [], {
    format: 'integer',
    minimum: 1,
    maximum: 31,
    default: ['1'],
    question: 'Day of the month',
  })

  test('shows the server’s message, who gets the answer, and the defaults', async () => {
    const d = dock([
      elicits({ mode: 'form', message: 'Where does the bill go?' }, [day], {
        form: { title: 'Where does the bill go?', questions: [day] },
      }),
    ])
    await armed()
    expect(name(d.wrapper, 'e')).toBe('An MCP server requests input')
    expect(d.wrapper.find('.said').text()).toContain('Where does the bill go?')
    expect(d.wrapper.text()).toContain('Your answer goes to the MCP server “billing”.')
    expect(legend(d.wrapper)).toContain('A whole number from 1 to 31')
    const field = d.wrapper.find('input.field')
    expect((field.element as HTMLInputElement).value).toBe('1')
    await button(d.wrapper, 'Send answers').trigger('click')
    expect(d.answers[0]).toMatchObject({ decision: 'allow', responses: [{ id: 'day', text: '1' }] })
  })

  test('checks a number against its bounds when the field loses the focus', async () => {
    const d = dock([elicits({ mode: 'form', message: 'm' }, [day])])
    await armed()
    const field = d.wrapper.find('input.field')
    await field.setValue('32')
    expect(d.wrapper.find('.problem').exists()).toBe(false)
    await field.trigger('focusout')
    expect(d.wrapper.find('.problem').text()).toBe('Enter 31 or less.')
    expect(off(d.wrapper, 'Send answers')).toBe(true)
    await key(d.wrapper, 'Enter', { ctrlKey: true })
    expect(d.answers).toEqual([])
    await field.setValue('12')
    expect(d.wrapper.find('.problem').exists()).toBe(false)
    await button(d.wrapper, 'Send answers').trigger('click')
    expect(d.answers[0]).toMatchObject({ responses: [{ id: 'day', text: '12' }] })
  })

  test('is declined without a message, because nobody would get it', async () => {
    const d = dock([elicits({ mode: 'form', message: 'm' }, [day])])
    await armed()
    await button(d.wrapper, 'Decline').trigger('click')
    expect(d.wrapper.text()).toContain('Decline? billing sees only that you declined.')
    expect(d.wrapper.find('textarea').exists()).toBe(false)
    await button(d.wrapper, 'Decline').trigger('click')
    expect(d.answers[0]).toMatchObject({ decision: 'deny' })
    expect(d.answers[0]).not.toHaveProperty('message')
  })

  async function visit(url: string, questions: Question[] = [question('done', 'confirm', [])]) {
    const d = dock([elicits({ mode: 'url', message: 'Please **sign in**', url }, questions)])
    await armed()
    return d
  }

  test('of a URL shows it as text, opens nothing by itself, and is done when the person says so', async () => {
    const d = await visit('https://pay.example/?id=1')
    expect(name(d.wrapper, 'e')).toBe('An MCP server wants you to open a page')
    expect(d.wrapper.find('pre.address').text()).toBe('https://pay.example/?id=1')
    const link = d.wrapper.find('a')
    expect(link.attributes()).toMatchObject({
      href: 'https://pay.example/?id=1',
      target: '_blank',
      rel: 'noopener noreferrer',
    })
    await button(d.wrapper, 'Done').trigger('click')
    expect(d.answers[0]).toMatchObject({ decision: 'allow', responses: [{ id: 'done', values: ['yes'] }] })
  })

  test.each([
    'javascript:alert(1)',
    'data:text/html,<script>1</script>',
    'file:///etc/passwd',
    'vscode://x',
    'nothing',
    'javascript://pay.example/%0aalert(1)',
  ])('does not open %s', async (url) => {
    const d = await visit(url, [])
    expect(has(d.wrapper, 'Done')).toBe(false)
    expect(d.wrapper.find('a').exists()).toBe(false)
    expect(d.wrapper.find('pre.address').text()).toBe(url)
    expect(d.wrapper.text()).toContain('Only http and https links can be opened')
  })

  test('shows where a URL really leads', async () => {
    const d = await visit('https://bank.example@evil.example/\u202efdp')
    expect(d.wrapper.find('strong.mono').text()).toBe('evil.example')
    const foreign = await visit('https://b\u0430nk.example/')
    expect(foreign.wrapper.find('strong.mono').text()).toBe('xn--bnk-6cd.example')
  })

  test('of a URL is declined in two steps', async () => {
    const d = await visit('https://pay.example/')
    await button(d.wrapper, 'Decline').trigger('click')
    expect(d.answers).toEqual([])
    await button(d.wrapper, 'Decline').trigger('click')
    expect(d.answers[0]).toMatchObject({ decision: 'deny' })
  })
})

describe('a deadline', () => {
  const timed = (seconds: number, more: Partial<Request> = {}) =>
    mcp('a', [question('Name', 'text', [])], { ...closesIn(seconds), ...more })

  test('counts down and can be extended by five minutes', async () => {
    const extend = vi.spyOn(rest, 'extend').mockResolvedValue({ result: 'applied' })
    const d = dock([timed(125)])
    await armed()
    expect(d.wrapper.find('.left').text()).toBe('expires in 2:05')
    await tick(5_000)
    expect(d.wrapper.find('.left').text()).toBe('expires in 2:00')
    await button(d.wrapper, '+5 minutes').trigger('click')
    expect(extend).toHaveBeenCalledWith('a')
    await d.state([timed(125 + 300)])
    expect(d.wrapper.find('.left').text()).toBe('expires in 7:00')
  })

  test('has no button when it cannot be extended, and shows a refusal', async () => {
    vi.spyOn(rest, 'extend').mockRejectedValue(
      new RefusedError(422, 'cannot_extend', 'This question cannot wait any longer.', null),
    )
    expect(has(dock([timed(1_800)]).wrapper, '+5 minutes')).toBe(false)
    expect(has(dock([timed(60)], 'viewer').wrapper, '+5 minutes')).toBe(false)
    expect(has(dock([mcp('b', [question('q', 'text', [])])]).wrapper, '+5 minutes')).toBe(false)
    const d = dock([timed(60)])
    await button(d.wrapper, '+5 minutes').trigger('click')
    await flushPromises()
    expect(d.wrapper.find('[role=alert]').text()).toBe('This question cannot wait any longer.')
  })

  async function typed(r: Request) {
    const d = dock([r])
    await armed()
    const field = d.wrapper.find('textarea')
    field.element.focus()
    await field.setValue('half a name')
    return d
  }

  test('that passes while a person types says so, keeps the text and moves the focus from no other field', async () => {
    const d = await typed(timed(30))
    await tick(31_000)
    await d.state([])
    await nextTick()
    const notice = d.wrapper.find('.notice')
    expect(notice.text()).toMatch(/Time ran out at .*\. Claude continued without an answer\./)
    expect(notice.find('.unsent').text()).toContain('half a name')
    expect(document.activeElement).toBe(notice.element)
    await tick(60_000)
    expect(d.wrapper.find('.unsent').text()).toContain('half a name')
    await button(d.wrapper, 'Send as message').trigger('click')
    expect(d.said).toEqual(['What of Name?\nhalf a name'])
    expect(d.wrapper.text()).toBe('')
    expect(Object.keys(localStorage)).toEqual([])
  })

  test('shows the reason when the asker is gone, and lets the text be copied', async () => {
    const copied: string[] = []
    Object.defineProperty(navigator, 'clipboard', {
      configurable: true,
      value: { writeText: async (text: string) => void copied.push(text) },
    })
    const fate = {
      request_id: 'a',
      session_id: 's',
      status: 'withdrawn' as const,
      expires_at: null,
      resolved: {
        outcome: 'withdrawn' as const,
        by: null,
        device: null,
        at: NOW / 1000,
        summary: 'Claude stopped waiting (its own time limit)',
      },
    }
    vi.mocked(rest.pending).mockResolvedValue(fate)
    const d = await typed(mcp('a', [question('Name', 'text', [])]))
    await d.state([])
    await tick(1_500)
    expect(rest.pending).toHaveBeenCalledWith('a')
    expect(d.wrapper.find('.notice').text()).toContain('Claude stopped waiting (its own time limit).')
    await button(d.wrapper, 'Copy').trigger('click')
    await flushPromises()
    expect(copied).toEqual(['What of Name?\nhalf a name'])
    expect(has(d.wrapper, 'Copied')).toBe(true)
  })

  test('keeps and copies the text of an external asker, which takes no messages', async () => {
    const d = await typed(timed(30, { asker: 'agent Reviewer over MCP' }))
    await tick(31_000)
    await d.state([], { kind: 'agent', state: 'dead' })
    expect(d.wrapper.find('.notice').text()).toContain('The agent continued without an answer.')
    expect(has(d.wrapper, 'Send as message')).toBe(false)
    expect(has(d.wrapper, 'Keep my text')).toBe(false)
    expect(has(d.wrapper, 'Copy')).toBe(true)
  })

  test('closes its notice by itself when nothing was written', async () => {
    const d = dock([timed(30)])
    await tick(31_000)
    await d.state([])
    expect(d.wrapper.find('.notice').exists()).toBe(true)
    await tick(7_000)
    expect(d.wrapper.find('.notice').exists()).toBe(false)
  })
})

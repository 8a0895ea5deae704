// @vitest-environment node
import { describe, expect, test } from 'vitest'
import type { Form, Question } from '@/wire/messages.gen'
import {
  answered,
  blank,
  draftOf,
  faultOf,
  answerLines,
  missing,
  pick,
  pickOther,
  responses,
  type Fault,
  type FormDraft,
} from './answer'

function question(id: string, kind: Question['kind'], labels: string[], more: Partial<Question> = {}): Question {
  return {
    id,
    question: `${id}?`,
    header: '',
    kind,
    required: true,
    placeholder: null,
    free_text: true,
    options: labels.map((label) => ({ label, value: label, description: '', preview: null })),
    ...more,
  }
}
const single = question('q1', 'select', ['Summary', 'Detailed'])
const multi = question('q2', 'multi_select', ['API, server', 'Web', 'Docs'])
const form = (...questions: Question[]): Form => ({ title: null, questions })

describe('choosing options', () => {
  test('one option replaces the other', () => {
    let draft = pick(single, blank(), 0, 'claude')
    draft = pick(single, draft, 1, 'claude')
    expect(responses(form(single), { q1: draft })).toEqual([{ id: 'q1', values: ['Detailed'] }])
  })

  test('several options keep the order of the question', () => {
    let draft = pick(multi, blank(), 2, 'claude')
    draft = pick(multi, draft, 0, 'claude')
    draft = pick(multi, draft, 1, 'claude')
    draft = pick(multi, draft, 1, 'claude')
    expect(responses(form(multi), { q2: draft })).toEqual([{ id: 'q2', values: ['API, server', 'Docs'] }])
  })

  test('Other and an option exclude each other for Claude, and its text is kept', () => {
    let draft = pick(multi, blank(), 0, 'claude')
    draft = pickOther(multi, draft, 'claude')
    draft.text = 'both'
    expect(draft.picked).toEqual([])
    draft = pick(multi, draft, 1, 'claude')
    expect(draft).toEqual({ picked: [1], other: false, text: 'both' })
    expect(responses(form(multi), { q2: draft })).toEqual([{ id: 'q2', values: ['Web'] }])
  })

  test('Other adds to the options of an MCP form', () => {
    let draft = pick(multi, blank(), 1, 'mcp')
    draft = { ...pickOther(multi, draft, 'mcp'), text: ' and more ' }
    expect(responses(form(multi), { q2: draft })).toEqual([{ id: 'q2', values: ['Web'], text: 'and more' }])
  })
})

describe('missing answers', () => {
  test('nothing is filled in', () => {
    expect(missing(form(single, multi), {}).map((q) => q.id)).toEqual(['q1', 'q2'])
  })

  test('a blank Other does not count', () => {
    const draft: FormDraft = { q1: { picked: [], other: true, text: '  \n' } }
    expect(missing(form(single), draft)).toEqual([single])
    expect(responses(form(single), draft)).toEqual([])
  })

  test('a blank Other next to chosen options is not sent unnoticed', () => {
    const draft: FormDraft = { q2: { picked: [1], other: true, text: '' } }
    expect(missing(form(multi), draft)).toEqual([multi])
  })

  test('optional questions may stay empty, but not all of them', () => {
    const optional = question('q3', 'text', [], { required: false })
    expect(missing(form(single, optional), { q1: { picked: [0], other: false, text: '' } })).toEqual([])
    expect(missing(form(optional), {})).toEqual([optional])
  })

  test('text left from Other does not answer the question', () => {
    expect(missing(form(single), { q1: { picked: [], other: false, text: 'typed before' } })).toEqual([single])
  })

  test('an index outside the options answers nothing', () => {
    expect(missing(form(single), { q1: { picked: [7], other: false, text: '' } })).toEqual([single])
  })
})

test.each(['constructor', 'toString', 'valueOf', '__proto__'])(
  'a question with the id %s is unanswered until it is answered',
  (id) => {
    const asked = question(id, 'text', [])
    expect(draftOf({}, asked)).toEqual(blank())
    expect(answered(form(asked), {})).toEqual([false])
    const draft: FormDraft = { q: blank(), [id]: { ...blank(), text: 'yes' } }
    expect(responses(form(asked), draft)).toEqual([{ id, values: [], text: 'yes' }])
    expect(answerLines(form(asked), draft)).toEqual({ [`${id}?`]: 'yes' })
  },
)

describe('the response', () => {
  test('contains trimmed text', () => {
    const text = question('q4', 'text', [])
    expect(responses(form(text), { q4: { picked: [], other: false, text: ' v1.2 ' } })).toEqual([
      { id: 'q4', values: [], text: 'v1.2' },
    ])
  })

  test('is yes or no for a confirm, whatever its options are called', () => {
    const confirm = question('q5', 'confirm', [], { free_text: false })
    expect(responses(form(confirm), { q5: { picked: [1], other: false, text: '' } })).toEqual([
      { id: 'q5', values: ['no'] },
    ])
  })

  test('contains options of the same value once', () => {
    const twice = question('q6', 'multi_select', ['Same', 'Same'])
    expect(responses(form(twice), { q6: { picked: [0, 1], other: false, text: '' } })).toEqual([
      { id: 'q6', values: ['Same'] },
    ])
  })

  test('distinguishes two questions of the same text', () => {
    const twin = { ...single, id: 'q7' }
    expect(
      responses(form(single, twin), {
        q1: { picked: [0], other: false, text: '' },
        q7: { picked: [1], other: false, text: '' },
      }),
    ).toEqual([
      { id: 'q1', values: ['Summary'] },
      { id: 'q7', values: ['Detailed'] },
    ])
  })

  test('as one line joins the labels with commas and ends with the free text', () => {
    expect(answerLines(form(multi), { q2: { picked: [0, 2], other: true, text: 'more' } })).toEqual({
      'q2?': 'API, server, Docs, more',
    })
  })
})

describe('the constraints of an MCP server', () => {
  const text = (more: Partial<Question>) => question('t', 'text', [], more)
  const said = (words: string) => ({ ...blank(), text: words })

  test.each<[Partial<Question>, string, Fault | null]>([
    [{ format: 'number' }, '1.5', null],
    [{ format: 'number' }, '-2e3', null],
    [{ format: 'number' }, '1,5', 'number'],
    [{ format: 'number' }, '42xyz', 'number'],
    [{ format: 'number' }, '0x10', 'number'],
    [{ format: 'number' }, 'NaN', 'number'],
    [{ format: 'integer' }, '7', null],
    [{ format: 'integer' }, '7.0', 'integer'],
    [{ format: 'integer', minimum: 1, maximum: 31 }, '0', 'low'],
    [{ format: 'integer', minimum: 1, maximum: 31 }, '32', 'high'],
    [{ format: 'integer', minimum: 1, maximum: 31 }, '31', null],
    [{ format: 'number', minimum: 0 }, '0', null],
    [{ format: 'number', minimum: 0 }, '-0.1', 'low'],
    [{ format: 'email' }, 'ada@example.org', null],
    [{ format: 'email' }, 'ada', 'email'],
    [{ format: 'uri' }, 'https://go.dev', null],
    [{ format: 'uri' }, 'go.dev', 'uri'],
    [{ format: 'date' }, '2026-02-28', null],
    [{ format: 'date' }, '2026-13-01', 'date'],
    [{ format: 'date' }, '1.2.2026', 'date'],
    [{ format: 'date-time' }, '2026-02-28T14:00:00Z', null],
    [{ format: 'date-time' }, '2026-02-28', 'date-time'],
    [{ min_length: 3 }, 'ab', 'short'],
    [{ max_length: 2 }, 'abc', 'long'],
    [{ max_length: 2 }, '🙂🙂', null],
    [{ format: 'integer' }, ' ', 'missing'],
    [{ format: 'integer', required: false }, '', null],
    [{ format: 'integer', required: false }, 'x', 'integer'],
  ])('%o with “%s” is %s', (more, words, fault) => {
    expect(faultOf(text(more), said(words))).toBe(fault)
    expect(
      missing(form(text(more), question('o', 'select', ['A'], { required: false, default: ['A'] })), { t: said(words) })
        .length,
    ).toBe(fault === null ? 0 : 1)
  })

  test('bound the number of choices', () => {
    const q = question('m', 'multi_select', ['A', 'B', 'C'], { min_items: 2, max_items: 2 })
    const chosen = (...picked: number[]) => faultOf(q, { ...blank(), picked })
    expect([chosen(0), chosen(0, 1), chosen(0, 1, 2)]).toEqual(['few', null, 'many'])
  })

  test('keep valid defaults, which can be sent, and drop those that are not options', () => {
    const all = form(
      text({ id: 'a', default: ['v1'] }),
      question('b', 'select', ['X', 'Y'], { default: ['Y'] }),
      question('c', 'multi_select', ['X', 'Y'], { default: ['Y', 'gone', 'X'] }),
      question('d', 'confirm', [], { default: ['no'] }),
      question('e', 'select', ['X'], { default: ['gone'], required: false }),
      question('f', 'confirm', [], { required: false }),
    )
    expect(responses(all, {})).toEqual([
      { id: 'a', values: [], text: 'v1' },
      { id: 'b', values: ['Y'] },
      { id: 'c', values: ['X', 'Y'] },
      { id: 'd', values: ['no'] },
    ])
    expect(draftOf({}, all.questions[5]!)).toEqual(blank())
    expect(answered(all, {}).filter(Boolean)).toHaveLength(4)
    expect(missing(all, {})).toEqual([])
  })

  test('allow a default to be emptied', () => {
    expect(responses(form(text({ default: ['v1'], required: false })), { t: said('') })).toEqual([])
  })
})

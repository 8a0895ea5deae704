import { describe, expect, test } from 'vitest'
import type { Form, Question } from '@/wsapi/messages.gen'
import { blank, joined, missing, pick, pickOther, responses, worthKeeping, type FormDraft } from './answer'

function question(id: string, kind: Question['kind'], labels: string[], more: Partial<Question> = {}): Question {
  return {
    id, question: `${id}?`, header: '', kind, required: true, placeholder: null, free_text: true,
    options: labels.map((label) => ({ label, value: label, description: '', preview: null })), ...more,
  }
}
const single = question('q1', 'select', ['Summary', 'Detailed'])
const multi = question('q2', 'multi_select', ['API, server', 'Web', 'Docs'])
const form = (...questions: Question[]): Form => ({ title: null, questions })

describe('choosing', () => {
  test('one option replaces the other', () => {
    let draft = pick(single, blank(), 0, 'claude')
    draft = pick(single, draft, 1, 'claude')
    expect(responses(form(single), { q1: draft })).toEqual([{ id: 'q1', values: ['Detailed'] }])
  })

  test('several options are kept in the order of the question', () => {
    let draft = pick(multi, blank(), 2, 'claude')
    draft = pick(multi, draft, 0, 'claude')
    draft = pick(multi, draft, 1, 'claude')
    draft = pick(multi, draft, 1, 'claude')
    expect(responses(form(multi), { q2: draft })).toEqual([{ id: 'q2', values: ['API, server', 'Docs'] }])
  })

  test('Other and an option exclude each other for Claude, and the text is kept', () => {
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

describe('what is missing', () => {
  test('nothing is filled in', () => {
    expect(missing(form(single, multi), {}).map((q) => q.id)).toEqual(['q1', 'q2'])
  })

  test('a blank Other does not count', () => {
    const draft: FormDraft = { q1: { picked: [], other: true, text: '  \n' } }
    expect(missing(form(single), draft)).toEqual([single])
    expect(responses(form(single), draft)).toEqual([])
  })

  test('a blank Other beside options does not go out unseen', () => {
    const draft: FormDraft = { q2: { picked: [1], other: true, text: '' } }
    expect(missing(form(multi), draft)).toEqual([multi])
  })

  test('optional questions may stay empty, but not all of them', () => {
    const optional = question('q3', 'text', [], { required: false })
    expect(missing(form(single, optional), { q1: { picked: [0], other: false, text: '' } })).toEqual([])
    expect(missing(form(optional), {})).toEqual([optional])
  })

  test('text left from Other does not answer for it', () => {
    expect(missing(form(single), { q1: { picked: [], other: false, text: 'typed before' } })).toEqual([single])
  })

  test('a position outside the options answers nothing', () => {
    expect(missing(form(single), { q1: { picked: [7], other: false, text: '' } })).toEqual([single])
  })
})

describe('what goes out', () => {
  test('text, trimmed', () => {
    const text = question('q4', 'text', [])
    expect(responses(form(text), { q4: { picked: [], other: false, text: ' v1.2 ' } })).toEqual([{ id: 'q4', values: [], text: 'v1.2' }])
  })

  test('confirm is yes or no whatever its options are called', () => {
    const confirm = question('q5', 'confirm', [], { free_text: false })
    expect(responses(form(confirm), { q5: { picked: [1], other: false, text: '' } })).toEqual([{ id: 'q5', values: ['no'] }])
  })

  test('options of the same value go out once', () => {
    const twice = question('q6', 'multi_select', ['Same', 'Same'])
    expect(responses(form(twice), { q6: { picked: [0, 1], other: false, text: '' } })).toEqual([{ id: 'q6', values: ['Same'] }])
  })

  test('two questions of the same text are told apart', () => {
    const twin = { ...single, id: 'q7' }
    expect(responses(form(single, twin), {
      q1: { picked: [0], other: false, text: '' }, q7: { picked: [1], other: false, text: '' },
    })).toEqual([{ id: 'q1', values: ['Summary'] }, { id: 'q7', values: ['Detailed'] }])
  })

  test('as one line, labels are joined with a comma and the own words come last', () => {
    expect(joined(form(multi), { q2: { picked: [0, 2], other: true, text: 'more' } })).toEqual({ 'q2?': 'API, server, Docs, more' })
  })
})

test('a draft is worth keeping when it holds anything', () => {
  expect(worthKeeping({})).toBe(false)
  expect(worthKeeping({ q1: { picked: [], other: true, text: ' ' } })).toBe(false)
  expect(worthKeeping({ q1: { picked: [0], other: false, text: '' } })).toBe(true)
})

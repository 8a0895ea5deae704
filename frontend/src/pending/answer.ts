import type { Form, Question, Request, Response } from '@/wire/messages.gen'

/** What a person has filled in for one question so far. */
export interface QuestionDraft {
  /** Positions of the chosen options: labels and values may repeat. */
  picked: number[]
  /** Whether Other is chosen. */
  other: boolean
  text: string
}

export type FormDraft = Record<string, QuestionDraft>

/** The options of a confirm, whose values are fixed by pending.Normalise. */
export const CONFIRM = ['yes', 'no'] as const

export function blank(): QuestionDraft {
  return { picked: [], other: false, text: '' }
}

/** A question that nobody has touched: blank, or what the asker filled in before. */
function untouched(q: Question): QuestionDraft {
  const given = q.default ?? []
  if (given.length === 0) return blank()
  if (q.kind === 'text') return { ...blank(), text: given[0]! }
  const values: readonly string[] = q.kind === 'confirm' ? CONFIRM : q.options.map((o) => o.value)
  const picked = given
    .map((v) => values.indexOf(v))
    .filter((i) => i >= 0)
    .toSorted((a, b) => a - b)
  return { ...blank(), picked: q.kind === 'multi_select' ? picked : picked.slice(0, 1) }
}

export function draftOf(draft: FormDraft, q: Question): QuestionDraft {
  return draft[q.id] ?? untouched(q)
}

/** How many options a question shows, Other not counted. */
function optionCount(q: Question): number {
  return q.kind === 'confirm' ? CONFIRM.length : q.options.length
}

/** Whether a question shows Other. */
export function takesOther(q: Question): boolean {
  return q.free_text && (q.kind === 'select' || q.kind === 'multi_select')
}

/**
 * Whether Other stands beside chosen options rather than instead of them.
 * Claude's AskUserQuestion cannot tell the two apart in its answer, an MCP form
 * can.
 */
function otherAdds(q: Question, source: Request['source']): boolean {
  return q.kind === 'multi_select' && source !== 'claude'
}

/** The draft after a click on an option. */
export function pick(q: Question, draft: QuestionDraft, option: number, source: Request['source']): QuestionDraft {
  if (q.kind !== 'multi_select') return { ...draft, picked: [option], other: false }
  const picked = draft.picked.includes(option)
    ? draft.picked.filter((i) => i !== option)
    : [...draft.picked, option].toSorted((a, b) => a - b)
  return { ...draft, picked, other: otherAdds(q, source) ? draft.other : false }
}

/** The draft after a click on Other; its text is kept when it is left. */
export function pickOther(q: Question, draft: QuestionDraft, source: Request['source']): QuestionDraft {
  if (q.kind !== 'multi_select') return { ...draft, picked: [], other: true }
  const other = !draft.other
  return { ...draft, other, picked: other && !otherAdds(q, source) ? [] : draft.picked }
}

/** The response to one question as it goes out; null when there is none yet. */
function responseTo(q: Question, draft: QuestionDraft): Response | null {
  const text = q.kind === 'text' || (takesOther(q) && draft.other) ? draft.text.trim() : ''
  const chosen =
    q.kind === 'text' ? [] : draft.picked.filter((i) => i >= 0 && i < optionCount(q)).map((i) => valueOf(q, i))
  const values = [...new Set(chosen)]
  // A chosen but blank Other is an answer not finished, also beside options.
  if (takesOther(q) && draft.other && text === '') return null
  if (values.length === 0 && text === '') return null
  return text === '' ? { id: q.id, values } : { id: q.id, values, text }
}

function valueOf(q: Question, option: number): string {
  return q.kind === 'confirm' ? CONFIRM[option]! : q.options[option]!.value
}

export function responses(form: Form, draft: FormDraft): Response[] {
  return form.questions.flatMap((q) => responseTo(q, draftOf(draft, q)) ?? [])
}

/** What keeps one answer from being sent. */
export type Fault =
  | 'missing'
  | 'other'
  | 'number'
  | 'integer'
  | 'email'
  | 'uri'
  | 'date'
  | 'date-time'
  | 'low'
  | 'high'
  | 'short'
  | 'long'
  | 'few'
  | 'many'

// As JSON writes them: what a person means by 1,5 or 0x10 is not for us to guess.
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/
const INTEGER = /^-?(0|[1-9]\d*)$/
const EMAIL = /^[^\s@]+@[^\s@]+$/
const DATE = /^\d{4}-\d{2}-\d{2}$/
const DATE_TIME = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/

/** What is wrong with the answer as it stands; null when it can be sent. The server has the last word. */
export function faultOf(q: Question, draft: QuestionDraft): Fault | null {
  const response = responseTo(q, draft)
  if (response === null) {
    if (takesOther(q) && draft.other) return 'other'
    return q.required ? 'missing' : null
  }
  if (q.kind === 'multi_select') {
    const n = (response.values?.length ?? 0) + (response.text ? 1 : 0)
    if (q.min_items && n < q.min_items) return 'few'
    if (q.max_items && n > q.max_items) return 'many'
  }
  return q.kind === 'text' ? textFault(q, response.text ?? '') : null
}

function textFault(q: Question, text: string): Fault | null {
  const length = [...text].length
  if (q.min_length && length < q.min_length) return 'short'
  if (q.max_length && length > q.max_length) return 'long'
  switch (q.format) {
    case 'number':
    case 'integer': {
      if (!(q.format === 'integer' ? INTEGER : NUMBER).test(text)) return q.format
      const n = Number(text)
      if (q.minimum !== undefined && n < q.minimum) return 'low'
      return q.maximum !== undefined && n > q.maximum ? 'high' : null
    }
    case 'email':
      return EMAIL.test(text) ? null : 'email'
    case 'uri':
      return URL.canParse(text) ? null : 'uri'
    case 'date':
      return DATE.test(text) && !Number.isNaN(Date.parse(text)) ? null : 'date'
    case 'date-time':
      return DATE_TIME.test(text) && !Number.isNaN(Date.parse(text)) ? null : 'date-time'
    case undefined:
      return null
  }
}

/** How many questions have an answer that can be sent. */
export function answered(form: Form, draft: FormDraft): number {
  return form.questions.filter((q) => {
    const d = draftOf(draft, q)
    return responseTo(q, d) !== null && faultOf(q, d) === null
  }).length
}

/** The questions that keep the form from being sent, in order. */
export function missing(form: Form, draft: FormDraft): Question[] {
  const open = form.questions.filter((q) => faultOf(q, draftOf(draft, q)) !== null)
  // A form without an answer is not an answer, even if nothing is required.
  if (open.length === 0 && responses(form, draft).length === 0) return form.questions.slice(0, 1)
  return open
}

/** Each answer as one line of text: labels joined with ", ", then the person's own words. */
export function joined(form: Form, draft: FormDraft): Record<string, string> {
  const lines: Record<string, string> = {}
  for (const q of form.questions) {
    const response = responseTo(q, draftOf(draft, q))
    if (!response) continue
    const labels = (response.values ?? []).map((v) => q.options.find((o) => o.value === v)?.label ?? v)
    lines[q.question] = [...labels, ...(response.text ? [response.text] : [])].join(', ')
  }
  return lines
}

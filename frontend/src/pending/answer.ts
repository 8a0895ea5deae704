import type { Form, Question, Request, Response } from '@/wire/messages.gen'
import { words } from './words'

/** QuestionDraft is what a person has entered for one question so far. */
export interface QuestionDraft {
  /** Indexes of the chosen options, because labels and values may repeat. */
  picked: number[]
  /** Whether Other is chosen. */
  other: boolean
  text: string
}

export type FormDraft = Record<string, QuestionDraft>

/** The values of a confirm, which pending.Normalise requires. */
export const CONFIRM = ['yes', 'no'] as const

export function blank(): QuestionDraft {
  return { picked: [], other: false, text: '' }
}

/** Returns the draft of an untouched question: blank, or with the defaults of the asker. */
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
  // Ids come from outside: every object has a "constructor".
  return Object.hasOwn(draft, q.id) ? draft[q.id]! : untouched(q)
}

/** Returns the number of options of a question, without Other. */
function optionCount(q: Question): number {
  return q.kind === 'confirm' ? CONFIRM.length : q.options.length
}

/** takesOther reports whether a question offers Other. */
export function takesOther(q: Question): boolean {
  return q.free_text && (q.kind === 'select' || q.kind === 'multi_select')
}

/**
 * Reports whether Other adds to the chosen options instead of replacing them. The answer to
 * Claude's AskUserQuestion cannot distinguish the two, that of an MCP form can.
 */
function otherAdds(q: Question, source: Request['source']): boolean {
  return q.kind === 'multi_select' && source !== 'claude'
}

/** pick returns the draft after a click on an option. */
export function pick(q: Question, draft: QuestionDraft, option: number, source: Request['source']): QuestionDraft {
  if (q.kind !== 'multi_select') return { ...draft, picked: [option], other: false }
  const picked = draft.picked.includes(option)
    ? draft.picked.filter((i) => i !== option)
    : [...draft.picked, option].toSorted((a, b) => a - b)
  return { ...draft, picked, other: otherAdds(q, source) ? draft.other : false }
}

/** pickOther returns the draft after a click on Other. Its text is kept when it is deselected. */
export function pickOther(q: Question, draft: QuestionDraft, source: Request['source']): QuestionDraft {
  if (q.kind !== 'multi_select') return { ...draft, picked: [], other: true }
  const other = !draft.other
  return { ...draft, other, picked: other && !otherAdds(q, source) ? [] : draft.picked }
}

/** Returns the response to one question, null if there is none yet. */
function responseTo(q: Question, draft: QuestionDraft): Response | null {
  const text = q.kind === 'text' || (takesOther(q) && draft.other) ? draft.text.trim() : ''
  const chosen =
    q.kind === 'text' ? [] : draft.picked.filter((i) => i >= 0 && i < optionCount(q)).map((i) => valueOf(q, i))
  const values = [...new Set(chosen)]
  // If Other is chosen and blank, the answer is incomplete, even if options are chosen too.
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

/** Fault is why an answer cannot be sent. */
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

// Numbers as in JSON. sayso does not guess what a person means by 1,5 or 0x10.
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/
const INTEGER = /^-?(0|[1-9]\d*)$/
const EMAIL = /^[^\s@]+@[^\s@]+$/
const DATE = /^\d{4}-\d{2}-\d{2}$/
const DATE_TIME = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/

/**
 * faultOf returns why the answer to a question cannot be sent, null if it can. The server checks it
 * again.
 */
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

/** answered reports for each question whether it has an answer that can be sent. */
export function answered(form: Form, draft: FormDraft): boolean[] {
  return form.questions.map((q) => {
    const d = draftOf(draft, q)
    return responseTo(q, d) !== null && faultOf(q, d) === null
  })
}

/** missing returns the questions whose answers cannot be sent, in order. */
export function missing(form: Form, draft: FormDraft): Question[] {
  const open = form.questions.filter((q) => faultOf(q, draftOf(draft, q)) !== null)
  // A form needs at least one answer, even if no question is required.
  if (open.length === 0 && responses(form, draft).length === 0) return form.questions.slice(0, 1)
  return open
}

/** answerLine returns an answer as one line: labels joined with ", ", then the person's own text; "" for none. */
export function answerLine(q: Question, draft: QuestionDraft): string {
  const response = responseTo(q, draft)
  const label = (v: string) =>
    q.kind === 'confirm' ? words.confirm[v as (typeof CONFIRM)[number]] : q.options.find((o) => o.value === v)?.label
  const labels = (response?.values ?? []).map((v) => label(v) ?? v)
  return [...labels, ...(response?.text ? [response.text] : [])].join(', ')
}

/** answerLines returns the answers of a form by their questions, each as one line. */
export function answerLines(form: Form, draft: FormDraft): Record<string, string> {
  return Object.fromEntries(
    form.questions
      .map((q) => [q.question, answerLine(q, draftOf(draft, q))] as const)
      .filter(([, line]) => line !== ''),
  )
}

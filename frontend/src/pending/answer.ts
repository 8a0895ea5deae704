import type { Form, Question, Request, Response } from '@/wsapi/messages.gen'

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

export function draftOf(draft: FormDraft, q: Question): QuestionDraft {
  return draft[q.id] ?? blank()
}

/** How many options a question shows, Other not counted. */
export function optionCount(q: Question): number {
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
export function otherAdds(q: Question, source: Request['source']): boolean {
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
export function responseTo(q: Question, draft: QuestionDraft): Response | null {
  const text = q.kind === 'text' || (takesOther(q) && draft.other) ? draft.text.trim() : ''
  const chosen = q.kind === 'text' ? [] : draft.picked.filter((i) => i >= 0 && i < optionCount(q)).map((i) => valueOf(q, i))
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

/** The questions that keep the form from being sent, in order. */
export function missing(form: Form, draft: FormDraft): Question[] {
  const open = form.questions.filter((q) => {
    const d = draftOf(draft, q)
    return responseTo(q, d) === null && (q.required || (takesOther(q) && d.other))
  })
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

/** Whether there is anything in the draft that a person would miss. */
export function worthKeeping(draft: FormDraft): boolean {
  return Object.values(draft).some((d) => d.picked.length > 0 || d.text.trim() !== '')
}

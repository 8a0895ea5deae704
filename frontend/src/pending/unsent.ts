import type { Request } from '@/wire/messages.gen'
import { answerLines, type FormDraft } from './answer'
import { drafts } from './drafts'
import { withComments, type PlanComment } from './plan'

/**
 * unsentText returns what a person had written for a request that another person answered, as text
 * to continue with; null if there is nothing.
 */
export function unsentText(request: Request): string | null {
  const draft = drafts.get<{ edit?: string | null; reason?: string; form?: FormDraft; comments?: PlanComment[] }>(
    `request:${request.request_id}`,
  )
  if (!draft) return null
  const parts: string[] = []
  const said = withComments(draft.comments ?? [], draft.reason?.trim() ?? '')
  if (said) parts.push(said)
  if (draft.edit?.trim()) parts.push(draft.edit)
  if (draft.form && request.form) {
    // Defaults of the asker are not the person's text.
    const { form } = draft
    const touched = { ...request.form, questions: request.form.questions.filter((q) => Object.hasOwn(form, q.id)) }
    for (const [question, answer] of Object.entries(answerLines(touched, form))) parts.push(`${question}\n${answer}`)
  }
  return parts.length > 0 ? parts.join('\n\n') : null
}

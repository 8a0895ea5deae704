// Removes the marks of a heading: "## Title ##" becomes "Title". Not a regular expression, because
// that would start at each space of a long run.
function withoutMarks(text: string): string {
  let end = text.length
  while (text[end - 1] === '#') end--
  return end > 0 && ' \t'.includes(text[end - 1]!) ? text.slice(0, end).trimEnd() : text
}

/**
 * headings returns the headings of a plan as they are rendered, in order; those in code blocks do
 * not count.
 */
export function headings(markdown: string): { level: number; text: string }[] {
  const out: { level: number; text: string }[] = []
  let fence = ''
  for (const line of markdown.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (fence) {
      if (mark && mark[0] === fence[0] && mark.length >= fence.length) fence = ''
      continue
    }
    if (mark) {
      fence = mark
      continue
    }
    const level = /^ {0,3}(#{1,6})[ \t]/.exec(line)?.[1]!.length
    if (!level) continue
    const text = withoutMarks(line.trimStart().slice(level).trim())
    if (text !== '') out.push({ level, text: text.replace(/[*_`]/g, '') })
  }
  return out
}

const MAX_FILES = 20

/** files returns the files that a plan names as code, in order and without repetitions. */
export function files(markdown: string): string[] {
  const named = markdown.matchAll(/`([\w@.~-]*\/[\w@./-]*\w|[\w@-][\w@.-]*\.[a-zA-Z]\w{0,7})`/g)
  return [...new Set([...named].map((m) => m[1]!))].slice(0, MAX_FILES)
}

/** PlanComment is a person's comment on a part of a plan. */
export interface PlanComment {
  /** The selected text. */
  quote: string
  text: string
}

/** withComments returns the message for Claude: each comment under its quote, then the reason. */
export function withComments(comments: readonly PlanComment[], reason: string): string {
  const parts = comments.filter((c) => c.text.trim() !== '').map((c) => `> ${c.quote}\n\n${c.text.trim()}`)
  return [...parts, ...(reason ? [reason] : [])].join('\n\n')
}

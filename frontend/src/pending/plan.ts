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

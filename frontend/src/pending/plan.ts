/** The headings of a plan, in order, as many as are rendered: those in code are none. */
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
    const heading = /^ {0,3}(#{1,6})\s+(.+?)\s*#*\s*$/.exec(line)
    if (heading) out.push({ level: heading[1]!.length, text: heading[2]!.replace(/[*_`]/g, '') })
  }
  return out
}

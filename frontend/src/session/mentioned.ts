/** A part of a message, and whether it is a mention or a command. */
export interface Part {
  readonly text: string
  readonly named: boolean
}

// A mention follows a space, as Claude Code reads it; a command begins the message.
const NAMED = /(?<=^|\s)@(?:"[^"\n]+"|[^\s@"]+)|(?<=^\s*)\/[\w:.-]+(?=\s|$)/g

/** mentionedIn splits a message at the mentions and the command in it. */
export function mentionedIn(text: string): Part[] {
  const parts: Part[] = []
  let from = 0
  for (const { index, 0: named } of text.matchAll(NAMED)) {
    if (index > from) parts.push({ text: text.slice(from, index), named: false })
    parts.push({ text: named, named: true })
    from = index + named.length
  }
  if (from < text.length) parts.push({ text: text.slice(from), named: false })
  return parts
}

import type { Item } from '@/wire/messages.gen'
import { textOfItem } from './itemtext'

// Items are replaced when they change, so the folded text of an item stays correct.
const folded = new WeakMap<Item, string>()

const fold = (text: string) => text.toLocaleLowerCase()

/** Returns the items that contain the words, in order; none if words is empty. */
export function findItems(items: readonly Item[], words: string): Item[] {
  const wanted = fold(words.trim())
  if (wanted === '') return []
  return items.filter((it) => {
    let text = folded.get(it)
    if (text === undefined) folded.set(it, (text = fold(textOfItem(it))))
    return text.includes(wanted)
  })
}

// The most matches that are highlighted.
const MAX_MATCHES = 500

/** Returns the ranges of the words in the text of an element. */
export function rangesIn(root: Element, words: string): Range[] {
  const wanted = fold(words.trim())
  const ranges: Range[] = []
  if (wanted === '') return ranges
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node && ranges.length < MAX_MATCHES; node = walker.nextNode()) {
    const text = fold((node as Text).data)
    // Some letters fold to two, which would shift the positions.
    if (text.length !== (node as Text).data.length) continue
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      const range = new Range()
      range.setStart(node, at)
      range.setEnd(node, at + wanted.length)
      ranges.push(range)
    }
  }
  return ranges
}

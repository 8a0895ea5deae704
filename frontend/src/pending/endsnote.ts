import type { Ends } from './lineends'
import { words } from './words'

/** endsNote returns the note about line endings, null if none is needed; changes is true if they change. */
export function endsNote(before: Ends, after: Ends): { text: string; changes: boolean } | null {
  if (after === '' || (after === 'lf' && (before === 'lf' || before === ''))) return null
  if (before === '' || (before === 'mixed' && after === 'mixed')) return { text: words.ends.of(after), changes: false }
  if (before === after) return { text: words.ends.kept(after), changes: false }
  return { text: words.ends.change(before, after), changes: true }
}

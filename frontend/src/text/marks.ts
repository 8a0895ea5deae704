import { t } from '@/i18n'
import { limitMarks, needsMarks, pieces, shown } from './hidden'

/** Marks hidden characters in rendered Markdown, and isolates right-to-left letters in code. */
export function markHidden(content: ParentNode & Node): void {
  const all = content.textContent ?? ''
  if (!needsMarks(all)) return
  const many = limitMarks(all) !== all
  const texts: Text[] = []
  const walk = document.createTreeWalker(content, NodeFilter.SHOW_TEXT)
  while (walk.nextNode()) texts.push(walk.currentNode as Text)
  for (const text of texts) {
    if (many) {
      text.data = shown(text.data)
      continue
    }
    const parts = pieces(text.data, !text.parentElement?.closest('code, pre'))
    if (!parts.some((p) => p.hidden || p.fromRight)) continue
    text.replaceWith(...parts.map((p) => (p.hidden ? sign(p.hidden, p.code) : p.fromRight ? isolated(p.text) : p.text)))
  }
}

/** Creates the same element as VisibleText, which cannot be used in HTML that is not a template. */
function sign(name: string, code = ''): HTMLElement {
  const span = document.createElement('span')
  span.className = 'hidden-character'
  span.title = code
  span.setAttribute('role', 'img')
  span.setAttribute('aria-label', t.pending.hiddenCharacter(name))
  span.textContent = name
  return span
}

function isolated(text: string): HTMLElement {
  const bdi = document.createElement('bdi')
  bdi.textContent = text
  return bdi
}

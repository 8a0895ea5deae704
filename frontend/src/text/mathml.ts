import './math.css'
import type { MathTree } from './drawn'

// Formulas are data until here. Only these elements, attributes and style properties are created; none of
// them loads, runs or links anything.
const TAGS = new Set(
  (
    'math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover ' +
    'mmultiscripts mprescripts none mtable mtr mtd mstyle mpadded mphantom merror menclose'
  ).split(' '),
)
const ATTRIBUTES = new Set(
  (
    'display displaystyle scriptlevel mathvariant mathcolor mathbackground mathsize dir form fence separator ' +
    'stretchy symmetric largeop movablelimits accent accentunder lspace rspace minsize maxsize linethickness ' +
    'width height depth voffset columnalign rowalign columnspacing rowspacing columnlines rowlines columnspan ' +
    'rowspan frame framespacing notation'
  ).split(' '),
)
const STYLES = new Set(
  (
    'color backgroundColor textAlign fontSize fontWeight fontStyle padding paddingTop paddingRight paddingBottom ' +
    'paddingLeft border borderTop borderRight borderBottom borderLeft borderColor borderStyle borderWidth'
  ).split(' '),
)
const VALUE = /^[-\w.,%# ]{1,80}$/

/**
 * Returns the element of a formula, labelled with its source if it has no better label; null if a part of it
 * is not allowed.
 */
export function mathOf(tree: MathTree, source: string): Element | null {
  const math = elementOf(tree)
  if (math?.localName !== 'math') return null
  math.setAttribute('alttext', source)
  return math
}

function elementOf({ tag, attributes, style, classes, children }: MathTree): MathMLElement | null {
  if (!TAGS.has(tag)) return null
  const el = document.createElementNS('http://www.w3.org/1998/Math/MathML', tag)
  for (const [name, value] of Object.entries(attributes))
    if (ATTRIBUTES.has(name) && VALUE.test(value)) el.setAttribute(name, value)
  // Not as an attribute, because the Content-Security-Policy allows none.
  for (const [name, value] of Object.entries(style))
    if (STYLES.has(name) && VALUE.test(value)) Object.assign(el.style, { [name]: value })
  const own = classes.filter((name) => /^tml-[a-z-]+$/.test(name))
  if (own.length > 0) el.setAttribute('class', own.join(' '))
  for (const child of children) {
    const made = typeof child === 'string' ? child : elementOf(child)
    if (made === null) return null
    el.append(made)
  }
  return el
}

import { expect, test } from 'vitest'
import type { MathTree } from './drawn'
import { mathOf } from './mathml'

const el = (tag: string, more: Partial<MathTree> = {}): MathTree => ({
  tag,
  attributes: {},
  style: {},
  classes: [],
  children: [],
  ...more,
})

test('a formula is elements of MathML, and its source is read where they are not', () => {
  const math = mathOf(el('math', { children: [el('mi', { children: ['x'] })] }), 'x')!
  expect(math.outerHTML).toBe('<math alttext="x"><mi>x</mi></math>')
  expect(math.firstElementChild!.namespaceURI).toBe('http://www.w3.org/1998/Math/MathML')
})

test.each(['script', 'a', 'img', 'svg', 'style', 'mglyph', 'annotation-xml', 'maction', 'semantics', ''])(
  'with <%s> in it there is none',
  (tag) => {
    expect(mathOf(el('math', { children: [el('mrow', { children: [el(tag)] })] }), '')).toBeNull()
    expect(mathOf(el(tag), '')).toBeNull()
  },
)

test('what could lead, run, load or look like a part of the page is left out', () => {
  const math = mathOf(
    el('math', {
      attributes: {
        href: 'javascript:alert(1)',
        'xlink:href': 'https://x.y',
        onclick: 'alert(1)',
        style: 'color:red',
        src: 'x',
        id: 'approve',
        actiontype: 'statusline',
        mathcolor: 'url(https://x.y)',
        display: 'block',
      },
      style: { position: 'fixed', inset: '0', backgroundColor: 'url(https://x.y)', color: 'red' },
      classes: ['sr-only', 'tml-left', 'row'],
    }),
    '',
  )!
  expect(Array.from(math.attributes, (a) => a.name).toSorted()).toEqual(['alttext', 'class', 'display'])
  expect(math.getAttribute('class')).toBe('tml-left')
  expect((math as MathMLElement).style.cssText).toBe('color: red;')
})

test('text stays text', () => {
  const math = mathOf(el('math', { children: [el('mtext', { children: ['<img src=x onerror=alert(1)>'] })] }), '')!
  expect(math.querySelector('img')).toBeNull()
  expect(math.textContent).toBe('<img src=x onerror=alert(1)>')
})

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Drawn, DrawKind, Failure } from './drawn'
import { mathOf } from './mathml'

// The worker and its libraries, run here: what hostile sources make of them.

const before = self.onmessage
const said: unknown[] = []
let ask: (kind: DrawKind, source: string) => Promise<Drawn | Failure>
beforeAll(async () => {
  await import('./draw.worker')
  const onmessage = self.onmessage as unknown as (ev: { data: unknown }) => Promise<void>
  ask = async (kind, source) => {
    vi.spyOn(self, 'postMessage').mockImplementation((message: unknown) => void said.push(message))
    await onmessage({ data: { kind, source } })
    return said.at(-1) as Drawn | Failure
  }
})
afterAll(() => {
  self.onmessage = before
})

const svgOf = async (source: string) => {
  const drawn = await ask('mermaid', source)
  return typeof drawn === 'object' && 'svg' in drawn ? drawn.svg : String(drawn)
}
const read = (svg: string) => new DOMParser().parseFromString(svg, 'image/svg+xml')

describe('diagrams', () => {
  test.each([
    ['graph TD\n  A[Start] --> B{Decide}\n  B -->|yes| C', 'Decide'],
    ['sequenceDiagram\n  Ann->>Bob: Hello', 'Hello'],
    ['stateDiagram-v2\n  [*] --> Idle\n  Idle --> Busy: start', 'Busy'],
    ['classDiagram\n  Animal <|-- Duck\n  Animal: +int age', 'Duck'],
    ['erDiagram\n  CUSTOMER ||--o{ ORDER : places', 'CUSTOMER'],
  ])('%j', async (source, label) => {
    const svg = await svgOf(source)
    expect(svg).toMatch(/^<svg\b[^>]*width="[\d.]+"[^>]*height="[\d.]+"/)
    expect(read(svg).querySelector('parsererror')).toBeNull()
    expect(read(svg).documentElement.textContent).toContain(label)
    expect(svg).toContain('@ink@')
  })

  test.each(['pie title Pets\n  "Dogs" : 3', 'gantt\n  section A', 'nonsense', '\u0000'])(
    '%j is not drawn',
    async (source) => {
      expect(await svgOf(source)).toBe('failed')
    },
  )

  test.each([
    'graph TD\n  A["<script>alert(1)</script>"] --> B["<img src=https://x.y/p onerror=alert(1)>"]',
    'graph TD\n  A --> B\n  click A "javascript:alert(1)"\n  click B href "https://x.y" _blank',
    'graph TD\n  A --> B\n  style A fill:url(https://x.y/p),stroke:#f00" onload="alert(1)',
    'graph TD\n  A["</text></svg><script>alert(1)</script>"]',
    'sequenceDiagram\n  Ann->>Bob: <script>alert(1)</script>',
    'classDiagram\n  class A["<foreignObject><iframe src=x>"]\n  A <|-- B',
  ])('%j holds no element of its own', async (source) => {
    const svg = await svgOf(source)
    if (svg === 'failed') return
    const doc = read(svg)
    if (doc.querySelector('parsererror')) return // no browser shows it
    expect(doc.querySelectorAll('script, foreignObject, iframe, image, a, use, animate, set')).toHaveLength(0)
    for (const el of doc.querySelectorAll('*')) for (const a of el.attributes) expect(a.name).not.toMatch(/^on|href/i)
  })

  test('none asks for fonts elsewhere', async () => {
    expect(await svgOf('graph TD\n  A --> B')).not.toMatch(/@import|https?:\/\/(?!www\.w3\.org)/)
  })
})

describe('formulas', () => {
  const mathFrom = async (source: string, kind: DrawKind = 'math') => {
    const drawn = await ask(kind, source)
    return typeof drawn === 'object' && 'math' in drawn ? mathOf(drawn.math, source) : drawn
  }

  test.each([
    'x^2 + y_1',
    '\\frac{a}{b}',
    '\\sqrt[3]{x}',
    '\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}',
    '\\begin{cases} 1 & x > 0 \\\\ 0 & \\text{else} \\end{cases}',
    '\\begin{aligned} a &= b \\\\ &= c \\end{aligned}',
    '\\sum_{i=0}^{n} \\int_0^\\infty e^{-x} \\, dx',
    '\\mathbb{R} \\mathcal{O}(n \\log n) \\hat{x} \\vec{v}',
    '\\lim_{x \\to 0} \\left( \\frac{1}{x} \\right)',
    '\\color{red}{x} \\boxed{y} \\overline{z} \\underbrace{a+b}_{c}',
    'a \\neq b \\not\\in C \\cancel{x}',
  ])('%j', async (source) => {
    expect(await mathFrom(source)).toBeInstanceOf(Element)
    expect(await mathFrom(source, 'inline')).toBeInstanceOf(Element)
  })

  test.each(['\\oops', '\\frac{a}', '{', 'a & b', '\\begin{nothing} \\end{nothing}'])(
    '%j is not drawn',
    async (source) => {
      expect(await mathFrom(source)).toBe('failed')
    },
  )

  test.each([
    '\\href{javascript:alert(1)}{x}',
    '\\url{javascript:alert(1)}',
    '\\includegraphics{https://x.y/p.png}',
    '\\htmlClass{sr-only}{x}',
    '\\class{row}{x}',
    '\\id{approve}{x}',
    '\\style{position:fixed;inset:0}{x}',
    '\\data{x=1}{x}',
    '\\text{<img src=x onerror=alert(1)>}',
    '\\color{red;background:url(https://x.y)}{x}',
  ])('%j leads, loads and runs nothing', async (source) => {
    const math = await mathFrom(source)
    if (!(math instanceof Element)) return
    for (const el of [math, ...math.querySelectorAll('*')]) {
      expect(el.namespaceURI).toBe('http://www.w3.org/1998/Math/MathML')
      for (const a of el.attributes) expect(a.name).not.toMatch(/^on|href|src|^id$/)
      expect((el as MathMLElement).style.cssText).not.toMatch(/url|position|inset/)
      expect(el.getAttribute('class') ?? '').not.toMatch(/sr-only|row/)
    }
  })

  test.each([
    ['\\sqrt{'.repeat(40) + 'x' + '}'.repeat(40), 'object'],
    ['\\sqrt{'.repeat(300) + 'x' + '}'.repeat(300), 'string'],
  ])('how deep it may be is bounded', async (source, drawn) => {
    expect(typeof (await ask('math', source))).toBe(drawn)
  })

  test.each([
    // Each macro doubles the one before it.
    `${'abcdefghijkl'.replace(/./g, (c, i: number) => `\\def\\${c}x{${i === 0 ? 'xxxx' : `\\${'abcdefghijkl'[i - 1]}x`.repeat(2)}}`)}\\lx`,
    '\\def\\a{\\a\\a}\\a',
    `\\def\\a{${'x'.repeat(3_000)}}${'\\a '.repeat(99)}`,
    '{'.repeat(2_400) + '}'.repeat(2_400),
    '\\sqrt'.repeat(900) + ' x',
    'x^{'.repeat(1_000) + '}'.repeat(1_000),
    `\\begin{matrix}${'&'.repeat(4_900)}\\end{matrix}`,
  ])('a bomb of macros or braces is small or none', async (source) => {
    expect(source.length).toBeLessThan(5_001)
    const math = await mathFrom(source)
    expect(math instanceof Element ? math.querySelectorAll('*').length : 0).toBeLessThan(5_000)
  })
})

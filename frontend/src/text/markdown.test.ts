import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { blocks, Growing, inert, safeLink, type Block } from './markdown'
import { isPlain } from './plain'

const htmlOf = (b: Block) => ('html' in b ? String(b.html) : '')
const html = (text: string) => blocks(text).map(htmlOf).join('')
const dom = (text: string) => {
  const el = document.createElement('div')
  el.innerHTML = html(text)
  return el
}

describe('markdown', () => {
  test('is rendered', () => {
    expect(html('**a** `b`')).toBe('<p><strong>a</strong> <code>b</code></p>\n')
    expect(dom('| a | b |\n|---|---|\n| 1 | 2 |').querySelectorAll('td')).toHaveLength(2)
  })

  test('a task is an item with a box that nobody can press', () => {
    for (const text of ['- [x] done\n- [ ] open', '- [x] done\n\n- [ ] open', '1. [X] done\n2. [ ] open']) {
      const boxes = [...dom(text).querySelectorAll('li')].map((li) => li.querySelector('input')!)
      expect(boxes.map((b) => [b.type, b.checked, b.disabled, b.getAttribute('aria-label')])).toEqual([
        ['checkbox', true, true, 'Done'],
        ['checkbox', false, true, 'Not done'],
      ])
      expect(dom(text).textContent).not.toMatch(/[[\]]/)
    }
  })

  test('a table that scrolls sideways can be reached without a pointer', () => {
    expect(dom('| a |\n|---|\n| 1 |').querySelector('table')?.tabIndex).toBe(0)
  })

  test('lines of a person end where they were ended, lines of Claude where markdown ends them', () => {
    expect(blocks('one\ntwo', true).map(htmlOf)).toEqual(['<p>one<br>two</p>\n'])
    expect(blocks('one\ntwo').map(htmlOf)).toEqual(['<p>one\ntwo</p>\n'])
    expect(blocks('<b>one\ntwo', true).map(htmlOf).join('')).not.toContain('<b>')
  })

  test('raw HTML is text', () => {
    const el = dom('<b>hi</b> and\n\n<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>')
    expect(el.querySelector('b, script, img')).toBeNull()
    expect(el.textContent).toContain('<script>alert(1)</script>')
  })

  test('an image is not loaded, its address is a link', () => {
    const el = dom('![alt](https://evil.example/x.png)')
    expect(el.querySelector('img')).toBeNull()
    expect(el.querySelector('a')?.getAttribute('href')).toBe('https://evil.example/x.png')
  })

  test('links lead to the web only, and show where', () => {
    const a = dom('[go](https://go.dev/doc)').querySelector('a')
    expect(a?.getAttribute('title')).toBe('https://go.dev/doc')
    expect(a?.getAttribute('rel')).toBe('noopener noreferrer')
  })

  test.each([
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](data:text/html,<script>1</script>)',
    '[x](vbscript:x)',
    '[x](/api/logout)',
    '[x](java\tscript:alert(1))',
    '<javascript:alert(1)>',
    '![x](javascript:alert(1))',
    '[x](file:///etc/passwd)',
    '[x][y]\n\n[y]: javascript:alert(1)',
  ])('%s leads nowhere', (text) => {
    expect(dom(text).querySelector('a')).toBeNull()
  })

  test.each([
    '```"><img src=x onerror=alert(1)>\ncode\n```',
    '`<img src=x onerror=alert(1)>`',
    '[a"onmouseover="alert(1)](https://x.y "t\\"onclick=\\"alert(1)")',
    '<svg><style><img src=x onerror=alert(1)></style></svg>',
    '<math><mi//xlink:href="data:x,<script>alert(4)</script>">',
    '<a href="javascript:alert(1)">x</a>',
    '<form><input name=attributes></form>',
    '<iframe srcdoc="<script>1</script>">',
    '# <img src=x onerror=1>',
    '| <img src=x onerror=1> |\n|---|\n| x |',
    '<details open ontoggle=alert(1)>',
    '![](https://x.y/"onerror="alert(1))',
    '- [x] <input type=text autofocus onfocus=alert(1)>',
    '$<img src=x onerror=alert(1)>$',
    '> $$\n> <img src=x onerror=alert(1)>\n> $$',
  ])('%s runs nothing', (text) => {
    for (const el of dom(text).querySelectorAll('*')) {
      expect(el.tagName).toMatch(
        /^(A|BLOCKQUOTE|BR|CODE|DEL|EM|H[1-6]|HR|INPUT|LI|OL|P|PRE|STRONG|TABLE|TBODY|TD|TH|THEAD|TR|UL|VAR)$/,
      )
      for (const a of el.attributes)
        expect(a.name).toMatch(/^(href|title|target|rel|start|tabindex|type|checked|disabled|aria-label)$/)
    }
    for (const box of dom(text).querySelectorAll('input')) expect([box.type, box.disabled]).toEqual(['checkbox', true])
  })

  test('only the last block of a growing text is parsed again', () => {
    const before = blocks('# one\n\ntwo\n\nthr')
    const after = blocks('# one\n\ntwo\n\nthree')
    expect(after.slice(0, 2)).toEqual(before.slice(0, 2))
    expect(after[2]).toEqual({ html: '<p>three</p>\n' })
  })

  test('a definition elsewhere is found', () => {
    expect(dom('[x][y]\n\n[y]: https://go.dev/').querySelector('a')?.getAttribute('href')).toBe('https://go.dev/')
  })
})

test('safe links', () => {
  expect(safeLink('https://go.dev')).toBe('https://go.dev/')
  expect(safeLink('mailto:a@b.c')).toBe('mailto:a@b.c')
  expect(safeLink('nothing')).toBeNull()
})

describe('code', () => {
  test('stays text, with its language', () => {
    expect(blocks('```go title="<img src=x>"\na <b>\n```')).toEqual([{ code: 'a <b>', lang: 'go' }])
    expect(blocks('    indented')).toEqual([{ code: 'indented', lang: '' }])
  })

  test('the name of a language is one short word', () => {
    expect(blocks('```' + 'x'.repeat(500) + '\na\n```')).toEqual([{ code: 'a', lang: 'x'.repeat(40) }])
  })
})

describe('what is drawn', () => {
  test.each([
    ['```mermaid\ngraph TD\n```', 'graph TD', 'mermaid'],
    ['~~~math\nx^2\n~~~', 'x^2', 'math'],
    ['$$x^2$$', 'x^2', 'math'],
    ['$$\nx^2\n+ 1\n$$\n', 'x^2\n+ 1', 'math'],
  ])('%j', (text, code, lang) => {
    expect(blocks(text)).toEqual([{ code, lang, drawn: true }])
  })

  test('comes between paragraphs without blank lines', () => {
    expect(blocks('So:\n$$\nx\n$$\nand on.')).toEqual([
      { html: '<p>So:</p>\n' },
      { code: 'x', lang: 'math', drawn: true },
      { html: '<p>and on.</p>\n' },
    ])
  })

  test.each(['```mermaid\ngraph TD', '```mermaid\ngraph TD\n``', '````mermaid\ngraph\n```', '```mermaid\n```'])(
    '%j is not whole, or nothing',
    (text) => expect(blocks(text)).toEqual([expect.not.objectContaining({ drawn: true })]),
  )

  test.each([
    ['an $x$.', '$x$'],
    ['$a_1 * b_2$, then *c*', '$a_1 * b_2$'],
    ['($\\alpha$)', '$\\alpha$'],
    ['**$x<y$**', '$x<y$'],
    ['- one $x$', '$x$'],
    ['| $x$ |\n|---|', '$x$'],
    ['$\\$5$', '$\\$5$'],
  ])('the formula in %j', (text, source) => {
    expect(Array.from(dom(text).querySelectorAll('var'), (v) => v.textContent)).toEqual([source])
  })

  test.each([
    'from $5 to $6',
    '$5-$6',
    '$HOME/$PATH',
    '$HOME and $PATH',
    'US$a$',
    '`$x$`',
    '$ x$',
    '$x $',
    '$$',
    '$$ x',
    '\\$x$',
    'a $x\ny$',
    '\\(a\\|b\\)',
  ])('no formula in %j', (text) => {
    expect(dom(text).querySelector('var')).toBeNull()
    expect(blocks(text).some((b) => 'drawn' in b)).toBe(false)
  })
})

// Sanitising in jsdom is slow, and the machine may be busy.
const TIMEOUT_MS = 60_000

describe('a growing text', () => {
  const pieces = [
    'Words.',
    'Words\nthat go on.',
    '# Head',
    '#',
    '- one',
    '- two',
    '  more of it',
    '1. first',
    '2. second',
    '> said',
    '```go\nx := 1\n\ny := 2\n```',
    '```',
    '~~~',
    '| a | b |\n|---|---|\n| 1 | 2 |',
    '| 3 | 4 |',
    '---',
    '===',
    '<b>hi</b>',
    '<!-- no',
    '-->',
    '    code',
    '**bold**',
    '`x`',
    '<script>\n\nalert(1)\n</script>',
    'a\\',
    '[x][y]',
    '[y]: https://go.dev/',
    '* * *',
    '$$\nx\n$$',
    '$$',
    'a $x$ b',
    '+ plus',
    '\t- tab',
  ]
  const markdown = fc
    .array(fc.tuple(fc.constantFrom(...pieces), fc.constantFrom('\n', '\n\n', '\n \n', ' ')), { maxLength: 14 })
    .map((list) => list.map(([p, s]) => p + s).join(''))

  test(
    'is parsed as if it had arrived at once',
    () => {
      fc.assert(
        fc.property(markdown, fc.array(fc.nat(60), { maxLength: 30 }), (whole, steps) => {
          const reader = new Growing((end) => end)
          let at = 0
          for (const step of steps) reader.take(whole.slice(0, (at += step)))
          expect(reader.take(whole)).toEqual(blocks(whole))
        }),
        { numRuns: 200 },
      )
    },
    TIMEOUT_MS,
  )

  test.each(['$$\n \n* * *\n$$\nx\n$$\n', '$$\nx\n\n$$\ny'])(
    '%j contains a blank line, so it starts no formula',
    (whole) => {
      const reader = new Growing((end) => end)
      for (let at = 1; at < whole.length; at++) reader.take(whole.slice(0, at))
      expect(reader.take(whole)).toEqual(blocks(whole))
    },
  )

  test('is parsed again only at its end', () => {
    const reader = new Growing()
    const head = Array.from({ length: 50 }, (_, i) => `Paragraph ${i}.`).join('\n\n')
    const before = reader.take(head + '\n\nThe la').slice()
    const after = reader.take(head + '\n\nThe last')
    expect(after).toHaveLength(51)
    for (let i = 0; i < 49; i++) expect(after[i]).toBe(before[i])
  })

  test('that is long is parsed completely, except for a long end', () => {
    const reader = new Growing()
    const head = Array.from({ length: 500 }, (_, i) => `Paragraph ${i} ${'of words '.repeat(20)}.\n\n`).join('')
    const before = reader.take(head + 'The la').slice()
    const after = reader.take(head + 'The last')
    expect(after).toHaveLength(501)
    expect(after.findIndex((b, i) => b !== before[i])).toBe(499)
    const end = 'long '.repeat(11_000)
    expect(reader.take(head + end)).toEqual([
      ...before.slice(0, 499),
      { code: `Paragraph 499 ${'of words '.repeat(20)}.\n\n${end}`, lang: '' },
    ])
    expect(new Growing().take('[y]: https://go.dev/\n\n' + head)).toHaveLength(1) // all of it would be read for each piece
  })

  test('that is replaced is parsed from its start', () => {
    const reader = new Growing()
    reader.take('One.\n\nTwo.\n\nThree.\n\nFour.')
    expect(reader.take('Other.')).toEqual(blocks('Other.'))
  })

  test('shows unfinished markup as closed, and adds nothing', () => {
    const show = (text: string) => new Growing().take(text).map(htmlOf).join('')
    expect(show('so **bold')).toBe('<p>so <strong>bold</strong></p>\n')
    expect(show('see `co')).toBe('<p>see <code>co</code></p>\n')
    expect(show('[a](https://exam')).not.toContain('<a')
    expect(new Growing().take('```js\nlet **x')).toEqual([{ code: 'let **x', lang: 'js' }])
  })
})

describe('inert Markdown', () => {
  const el = (text: string, inline = false) => {
    const div = document.createElement('div')
    div.append(inert(text, inline ? 'line' : 'text'))
    return div
  }

  test('is rendered', () => {
    expect(el('**a** `b`\n\n- c').innerHTML.replaceAll('\n', '')).toBe(
      '<p><strong>a</strong> <code>b</code></p><ul><li>c</li></ul>',
    )
    expect(el('# Plan').innerHTML.trim()).toBe('<p><strong>Plan</strong></p>')
    expect(el('use `x` now', true).innerHTML).toBe('use <code>x</code> now')
  })

  test('shows the text and target of a link', () => {
    const div = el('[your bank](https://evil.example/x) and https://go.dev')
    expect(div.querySelector('a')).toBeNull()
    expect(div.textContent).toContain('your bank (https://evil.example/x) and https://go.dev')
  })

  test('never loads an image', () => {
    const div = el('![logo](https://evil.example/pixel.png)')
    expect(div.querySelector('img')).toBeNull()
    expect(div.textContent).toContain('![logo](https://evil.example/pixel.png)')
  })

  test.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '[x](javascript:alert(1))',
    '<a href="https://x.y">x</a>',
    '<button>Approve</button>',
    '<form action=/x><input></form>',
    '```"><img src=x onerror=alert(1)>\ncode\n```',
    '| <b>a</b> |\n|---|\n| <i>b</i> |',
    '<style>*{display:none}</style>',
    '- [x] <input type=checkbox>',
    '<details open ontoggle=alert(1)>',
    '<svg onload=alert(1)>',
  ])('%s is text', (text) => {
    for (const inline of [false, true]) {
      for (const node of el(text, inline).querySelectorAll('*')) {
        expect(node.tagName).toMatch(
          /^(BLOCKQUOTE|BR|CODE|DEL|EM|HR|LI|OL|P|PRE|SMALL|STRONG|TABLE|TBODY|TD|TH|THEAD|TR|UL)$/,
        )
        expect([...node.attributes].map((a) => a.name).filter((n) => n !== 'value')).toEqual([])
      }
    }
  })
})

describe('plain text', () => {
  test.each(['One', 'What option 0 of part 1 means for the rest.', 'Größe (in %): 1.5 = more?', 'It\'s "so"'])(
    '%s',
    (text) => {
      expect(isPlain(text)).toBe(true)
    },
  )

  test.each([
    '',
    '- one',
    '1. one',
    '1) one',
    '# one',
    '> one',
    'a\nb',
    'a *b*',
    'a _b_',
    '`a`',
    'a <b>',
    'a & b',
    'a ~~b~~',
    'a \\* b',
    '[a](b)',
    '![a](b)',
    'www.example.com',
    'see http://example.com',
    'a@example.com',
    ' a',
    'a ',
    'a\u202eb',
    'a | b',
    '+ a',
    '---',
  ])('%s is Markdown, or may be', (text) => {
    expect(isPlain(text)).toBe(false)
  })

  test('means nothing to Markdown, whatever it contains', () => {
    // Also what is not plain: the rule may let nothing of it through that means something.
    const piece = fc.oneof(
      {
        weight: 20,
        arbitrary: fc.constantFrom(...'abÄ1 .,;:?!\'"()/%+=-', '. ', '- ', '1. ', 'www', 'http', 'a)', '--', '=='),
      },
      { weight: 1, arbitrary: fc.constantFrom('&', '*', '_', '`', '\n', '@', '|', '[', '<', '\\', '~', '\u202e') },
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = 'a' + pieces.join('')
        if (!isPlain(text)) return
        for (const inline of [false, true]) {
          const read = document.createElement('div')
          read.append(inert(text, inline ? 'line' : 'text'))
          const plain = document.createElement(inline ? 'div' : 'p')
          plain.append(text)
          expect(read.innerHTML.trim()).toBe(inline ? plain.innerHTML : plain.outerHTML)
        }
      }),
      { numRuns: 500 },
    )
  }, 60_000)
})

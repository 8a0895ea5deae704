import { describe, expect, test } from 'vitest'
import { blocks, safeLink } from './markdown'

const html = (text: string) => blocks(text).join('')
const dom = (text: string) => {
  const el = document.createElement('div')
  el.innerHTML = html(text)
  return el
}

describe('markdown', () => {
  test('is rendered', () => {
    expect(html('**a** `b`')).toBe('<p><strong>a</strong> <code>b</code></p>\n')
    expect(dom('| a | b |\n|---|---|\n| 1 | 2 |').querySelectorAll('td')).toHaveLength(2)
    expect(dom('- [x] done\n- [ ] open').textContent).toMatch(/☑ done\s*☐ open/)
  })

  test('raw HTML is text', () => {
    const el = dom('<b>hi</b> and\n\n<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>')
    expect(el.querySelector('b, script, img')).toBeNull()
    expect(el.textContent).toContain('<script>alert(1)</script>')
  })

  test('no image is loaded, its address is a link', () => {
    const el = dom('![alt](https://evil.example/x.png)')
    expect(el.querySelector('img')).toBeNull()
    expect(el.querySelector('a')?.getAttribute('href')).toBe('https://evil.example/x.png')
  })

  test('links lead to the web only, and say where', () => {
    const a = dom('[go](https://go.dev/doc)').querySelector('a')
    expect(a?.getAttribute('title')).toBe('https://go.dev/doc')
    expect(a?.getAttribute('rel')).toBe('noopener noreferrer')
  })

  test.each([
    '[x](javascript:alert(1))', '[x](JaVaScRiPt:alert(1))', '[x](data:text/html,<script>1</script>)', '[x](vbscript:x)', '[x](/api/logout)',
    '[x](java\tscript:alert(1))', '<javascript:alert(1)>', '![x](javascript:alert(1))', '[x](file:///etc/passwd)', '[x][y]\n\n[y]: javascript:alert(1)',
  ])('%s leads nowhere', (text) => {
    expect(dom(text).querySelector('a')).toBeNull()
  })

  test.each([
    '```"><img src=x onerror=alert(1)>\ncode\n```', '`<img src=x onerror=alert(1)>`', '[a"onmouseover="alert(1)](https://x.y "t\\"onclick=\\"alert(1)")',
    '<svg><style><img src=x onerror=alert(1)></style></svg>', '<math><mi//xlink:href="data:x,<script>alert(4)</script>">', '<a href="javascript:alert(1)">x</a>',
    '<form><input name=attributes></form>', '<iframe srcdoc="<script>1</script>">', '# <img src=x onerror=1>', '| <img src=x onerror=1> |\n|---|\n| x |',
    '<details open ontoggle=alert(1)>', '![](https://x.y/"onerror="alert(1))',
  ])('%s runs nothing', (text) => {
    for (const el of dom(text).querySelectorAll('*')) {
      expect(el.tagName).toMatch(/^(A|BLOCKQUOTE|BR|CODE|DEL|EM|H[1-6]|HR|LI|OL|P|PRE|STRONG|TABLE|TBODY|TD|TH|THEAD|TR|UL)$/)
      for (const a of el.attributes) expect(a.name).toMatch(/^(href|title|target|rel|start|tabindex)$/)
    }
  })

  test('of a growing text only the last block is new', () => {
    const before = blocks('# one\n\ntwo\n\nthr')
    const after = blocks('# one\n\ntwo\n\nthree')
    expect(after.slice(0, 2)).toEqual(before.slice(0, 2))
    expect(after[2]).toBe('<p>three</p>\n')
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

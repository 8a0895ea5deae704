import { flushPromises, mount } from '@vue/test-utils'
import { beforeEach, expect, test, vi } from 'vitest'
import type { Drawn, Failure } from './drawn'
import DrawnBlock from './DrawnBlock.vue'

const draw = vi.hoisted(() => vi.fn<(kind: string, source: string) => Promise<Drawn | Failure>>())
vi.mock('./draw', () => ({ draw, typeset: async () => {} }))

const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20.5" style="--bg:@paper@;--fg:@ink@"><text>@ink@</text>'
beforeEach(() => draw.mockReset())

async function show(code: string, lang: string) {
  const block = mount(DrawnBlock, { props: { code, lang }, attachTo: document.body })
  await flushPromises()
  return block
}

test('the source is there until the diagram is, and on a press', async () => {
  let drawn!: (as: Drawn) => void
  draw.mockReturnValue(new Promise((done) => (drawn = done)))
  const block = await show('graph TD', 'mermaid')
  expect(block.get('pre').text()).toBe('graph TD')
  expect(block.find('button[aria-pressed]').exists()).toBe(false)

  drawn({ svg: `${SVG}<script>alert(1)</script></svg>` })
  await flushPromises()
  // A picture, and nothing of it in the page.
  expect(block.find('svg:not([aria-hidden]), script').exists()).toBe(false)
  const img = block.get('img')
  expect(img.attributes()).toMatchObject({ width: '40', height: '20.5', alt: 'Diagram. Its source: graph TD' })
  const src = decodeURIComponent(img.attributes('src')!)
  expect(src).toMatch(/^data:image\/svg\+xml,<svg /)
  expect(src).not.toContain('--fg:@ink@')
  expect(src).toContain('<text>@ink@</text>') // only its own colours are set
  expect(block.get('.printed').text()).toBe('graph TD')

  await block.get('button[aria-pressed]').trigger('click')
  expect(block.find('img').exists()).toBe(false)
  expect(block.get('pre').text()).toBe('graph TD')
  await block.get('button[aria-pressed]').trigger('click')
  expect(block.find('img').exists()).toBe(true)
  block.unmount()
})

test.each([
  ['failed', 'Not drawn: its syntax is unknown or not supported.'],
  ['long', 'Not drawn: it is too large.'],
  ['slow', 'Not drawn: it takes too long to draw.'],
] as const)('%s: the source, and one sentence', async (failure, sentence) => {
  draw.mockResolvedValue(failure)
  const block = await show('graph TD', 'mermaid')
  expect(block.get('pre').text()).toBe('graph TD')
  expect(block.get('.note').text()).toBe(sentence)
  block.unmount()
})

test('a picture that the browser cannot show, and one without a size, are none', async () => {
  draw.mockResolvedValue({ svg: `${SVG}</svg>` })
  const block = await show('graph TD', 'mermaid')
  await block.get('img').trigger('error')
  expect(block.get('pre').text()).toBe('graph TD')
  expect(block.get('.note').text()).toContain('Not drawn')
  block.unmount()

  draw.mockResolvedValue({ svg: '<svg><text>x</text></svg>' })
  const other = await show('graph LR', 'mermaid')
  expect(other.find('img').exists()).toBe(false)
  expect(other.get('.note').text()).toContain('Not drawn')
  other.unmount()
})

test('a formula is elements', async () => {
  draw.mockResolvedValue({ math: { tag: 'math', attributes: {}, style: {}, classes: [], children: ['x'] } })
  const block = await show('x', 'math')
  expect(draw).toHaveBeenCalledWith('math', 'x')
  expect(block.get('math').attributes('alttext')).toBe('x')
  block.unmount()
})

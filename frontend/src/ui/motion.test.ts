// @vitest-environment node
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

// What moves is drawn without a new layout.
const ALLOWED = new Set([
  'none',
  'transform',
  'translate',
  'rotate',
  'scale',
  'opacity',
  'clip-path',
  'visibility',
  'color',
  'background',
  'background-color',
  'background-position',
  'border-color',
  'box-shadow',
  'outline-color',
  'filter',
  'fill',
  'stroke',
  'stroke-dashoffset',
])
const SRC = resolve(import.meta.dirname, '..')

const styles = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.(vue|css)$/.test(name))
  .map((name) => {
    const text = readFileSync(join(SRC, name), 'utf8')
    const css = name.endsWith('.css')
      ? text
      : [...text.matchAll(/<style[^>]*>([^]*?)<\/style>/g)].map((m) => m[1]).join('\n')
    return { name, css: css.replace(/\/\*[^]*?\*\//g, '') }
  })

/** The properties that a style sheet lets change gradually. */
function moved(css: string): string[] {
  const transitions = [...css.matchAll(/transition(?:-property)?:\s*([^;}]+)/g)].flatMap((m) =>
    // A comma within a function separates nothing.
    m[1]!
      .replace(/\([^()]*\)/g, '')
      .split(',')
      .map((part) => part.trim().split(/\s/)[0]!),
  )
  const frames = [...css.matchAll(/@keyframes[^{]*\{((?:[^{}]*\{[^{}]*\})*)/g)].flatMap((m) =>
    [...m[1]!.matchAll(/[{;]\s*([a-z-]+)\s*:/g)].map((p) => p[1]!),
  )
  return [...transitions, ...frames]
}

test('no style animates a property that changes the layout', () => {
  const found = styles.flatMap(({ name, css }) =>
    moved(css)
      .filter((property) => !ALLOWED.has(property))
      .map((property) => `${name}: ${property}`),
  )
  expect(found).toEqual([])
})

test('the check finds what would', () => {
  expect(
    moved('a { transition: height 1s, opacity 1s cubic-bezier(0, 0, 1, 1) } @keyframes x { from { width: 0 } }'),
  ).toEqual(['height', 'opacity', 'width'])
})

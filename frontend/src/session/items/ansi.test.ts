// @vitest-environment node
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { folded, runsOf, textOf } from './ansi'

const E = '\u001b'

describe('terminal output', () => {
  test('colours become classes', () => {
    expect(runsOf(`a ${E}[1;31mred${E}[0m ${E}[92mgreen${E}[39m.`)).toEqual([
      { text: 'a ', look: '' },
      { text: 'red', look: 'bold red' },
      { text: ' ', look: '' },
      { text: 'green', look: 'green' },
      { text: '.', look: '' },
    ])
    expect(runsOf(`${E}[38;5;9mx${E}[38;2;1;2;3my${E}[48;5;1mz`)).toEqual([
      { text: 'x', look: 'red' },
      { text: 'yz', look: '' },
    ])
  })

  test.each([
    ['a title', `${E}]0;evil${E}\\ok`],
    ['a title ended by a bell', `${E}]0;evil\u0007ok`],
    ['a link', `${E}]8;;https://evil.example${E}\\ok${E}]8;;${E}\\`],
    ['a device string', `${E}Pevil${E}\\ok`],
    ['moves', `${E}[2J${E}[1;1Hok${E}[K`],
    ['a question to the terminal', `${E}[6n${E}[cok`],
    ['a private mode', `${E}[?1049h${E}[?25lok`],
    ['a character set', `${E}(0ok${E}(B`],
    ['reset', `${E}cok`],
    ['save and restore', `${E}7ok${E}8`],
  ])('%s leaves the text alone', (_, output) => {
    expect(textOf(output)).toBe('ok')
  })

  test('never overwrites printed text', () => {
    expect(textOf('rm -rf /\rls\r\nend')).toBe('rm -rf /\nls\nend')
  })

  test('shows too many pieces as plain text', () => {
    const runs = runsOf(Array.from({ length: 2000 }, (_, i) => `${E}[3${i % 8}mx`).join(''))
    expect(runs).toEqual([{ text: 'x'.repeat(2000), look: '' }])
  })

  test('uses known classes and invents no text, whatever is printed', () => {
    const noise = fc.array(
      fc.oneof(
        fc.constantFrom(E, '[', ']', 'm', ';', '31', '\u0007', '\\', '\n', '\r', '8;;'),
        fc.string({ maxLength: 4 }),
      ),
      { maxLength: 40 },
    )
    fc.assert(
      fc.property(
        noise.map((a) => a.join('')),
        (output) => {
          let at = 0
          for (const { text, look } of runsOf(output)) {
            expect(look).toMatch(/^[a-z ]*$/)
            for (const char of text) {
              if (char === '\n') continue
              at = output.indexOf(char, at)
              expect(at).toBeGreaterThanOrEqual(0)
              at++
            }
          }
        },
      ),
      { numRuns: 300 },
    )
  }, 60_000)
})

test('collapses a long output to its start and end, and loses no line', () => {
  const lines = Array.from({ length: 100 }, (_, i) => `line ${i}`)
  const fold = folded(
    [
      { text: lines.slice(0, 50).join('\n'), look: '' },
      { text: '\n' + lines.slice(50).join('\n'), look: 'red' },
    ],
    3,
    2,
  )!
  expect(fold.head).toEqual([{ text: 'line 0\nline 1\nline 2', look: '' }])
  expect(fold.tail).toEqual([{ text: 'line 98\nline 99', look: 'red' }])
  expect(fold.between).toBe(95)
  expect(folded([{ text: 'a\nb\nc', look: '' }], 3, 2)).toBeNull()
})

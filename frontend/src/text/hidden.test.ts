// @vitest-environment node
import { expect, test } from 'vitest'
import { hiddenCount, needsMarks, pieces, shown } from './hidden'

test('plain text is one piece, including tabs and newlines', () => {
  expect(pieces('go\ttest\n./... é 漢 🙂')).toEqual([{ text: 'go\ttest\n./... é 漢 🙂' }])
})

test('an invisible character is named in its place', () => {
  expect(pieces('rm \u202e/x')).toEqual([
    { text: 'rm ' },
    { text: '\u202e', hidden: 'RLO', code: 'U+202E' },
    { text: '/x' },
  ])
})

test.each([
  ['carriage return', '\r'],
  ['escape', '\u001b'],
  ['null', '\0'],
  ['zero-width space', '\u200b'],
  ['soft hyphen', '\u00ad'],
  ['no-break space', '\u00a0'],
  ['isolate', '\u2066'],
  ['byte order mark', '\ufeff'],
  ['tag letter', '\u{e0041}'],
  ['hangul filler', '\u3164'],
  ['blank braille', '\u2800'],
  ['variation selector', '\u{e0100}'],
  ['wide space', '\u3000'],
  ['line separator', '\u2028'],
  ['lone surrogate', '\ud800'],
])('%s is hidden', (_, char) => {
  expect(hiddenCount(`a${char}b`)).toBe(1)
})

test('no text is lost', () => {
  const text = 'a\u200bb\u202ec\n\td'
  expect(
    pieces(text)
      .map((p) => p.text)
      .join(''),
  ).toBe(text)
})

test.each(['❤️ and ⚠️', '👩‍💻 writes', '👍🏽 yes', '1️⃣ first', 'one\u00a0two', '全角\u3000空白'])(
  'in prose %s is what it looks like',
  (text) => {
    expect(pieces(text, true)).toEqual([{ text }])
  },
)

test.each(['a\u200db', 'a\ufe0fb', 'x\u200d❤', 'a\u202eb', 'a\u200bb', 'a\u{e0041}b'])(
  'a joiner that joins no emoji is hidden in prose too',
  (text) => {
    expect(pieces(text, true).some((p) => p.hidden)).toBe(true)
  },
)

test('in plain text it is in brackets', () => {
  expect(shown('run \u202etxt.exe')).toBe('run [RLO]txt.exe')
})

test('letters that are drawn as nothing are marked, in prose too', () => {
  for (const char of '\u115f\u1160\u3164\uffa0\u17b4\u180b\u180f\u2065\ufff0\u{1d159}\u{13441}\u{16fe4}\u{e0000}\u{e0fff}\ufffc\ufffe') {
    expect([char.codePointAt(0)!.toString(16), pieces(`a${char}b`, true).filter((p) => p.hidden).length]).toEqual([
      char.codePointAt(0)!.toString(16),
      1,
    ])
  }
})

test('marks over a letter are letters unless they pile up, change a symbol or have no letter', () => {
  for (const text of ['e\u0301', 'e\u0302\u0301', 'ก็ที่', 'שָׁלוֹם', 'हिन्दी']) expect(pieces(text, true)).toEqual([{ text }])
  expect(pieces('a' + '\u0301'.repeat(7), true).filter((p) => p.hidden)).toHaveLength(3)
  for (const text of ['=\u0338', ' \u0301', '\u0301', 'a\n\u0301']) expect(hiddenCount(text)).toBe(1)
})

test('in code, characters that look like a slash, semicolon or colon are marked, but not in prose', () => {
  for (const char of '\u2044\u2215\u29f8\u2571\u2024\u037e\u2236\ua789\u01c3') {
    expect(hiddenCount(`etc${char}x`)).toBe(1)
    expect(pieces(`etc${char}x`, true)).toHaveLength(1)
  }
})

test('in code, right-to-left letters do not reorder their surroundings, but they do in prose', () => {
  expect(pieces('rm א/1/ב x')).toEqual([
    { text: 'rm ' },
    { text: 'א', fromRight: true },
    { text: '/1/' },
    { text: 'ב', fromRight: true },
    { text: ' x' },
  ])
  expect(pieces('rm א/1/ב x', true)).toHaveLength(1)
  expect(needsMarks('rm א')).toBe(true)
  expect(needsMarks('rm é漢')).toBe(false)
})

import { expect, test } from 'vitest'
import { hiddenCount, pieces, shown } from './hidden'

test('plain text is one piece, tabs and newlines included', () => {
  expect(pieces('go\ttest\n./... é 漢 🙂')).toEqual([{ text: 'go\ttest\n./... é 漢 🙂' }])
})

test('what cannot be seen is named where it stands', () => {
  expect(pieces('rm \u202e/x')).toEqual([
    { text: 'rm ' }, { text: '\u202e', hidden: 'RLO', code: 'U+202E' }, { text: '/x' },
  ])
})

test.each([
  ['carriage return', '\r'], ['escape', '\u001b'], ['null', '\0'], ['zero-width space', '\u200b'], ['soft hyphen', '\u00ad'],
  ['no-break space', '\u00a0'], ['isolate', '\u2066'], ['byte order mark', '\ufeff'], ['tag letter', '\u{e0041}'],
  ['hangul filler', '\u3164'], ['blank braille', '\u2800'], ['variation selector', '\u{e0100}'], ['wide space', '\u3000'],
  ['line separator', '\u2028'], ['lone surrogate', '\ud800'],
])('%s is hidden', (_, char) => {
  expect(hiddenCount(`a${char}b`)).toBe(1)
})

test('nothing of the text is lost', () => {
  const text = 'a\u200bb\u202ec\n\td'
  expect(pieces(text).map((p) => p.text).join('')).toBe(text)
})

test.each(['❤️ and ⚠️', '👩‍💻 writes', '👍🏽 yes', '1️⃣ first', 'one\u00a0two', '全角\u3000空白'])('in prose %s is what it looks like', (text) => {
  expect(pieces(text, true)).toEqual([{ text }])
})

test.each(['a\u200db', 'a\ufe0fb', 'x\u200d❤', 'a\u202eb', 'a\u200bb', 'a\u{e0041}b'])('a joint that joins no emoji is hidden in prose too', (text) => {
  expect(pieces(text, true).some((p) => p.hidden)).toBe(true)
})

test('as plain text it stands in brackets', () => {
  expect(shown('run \u202etxt.exe')).toBe('run [RLO]txt.exe')
})

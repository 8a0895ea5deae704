// @vitest-environment jsdom
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parse } from 'vue/compiler-sfc'
import { afterEach, describe, expect, it } from 'vitest'
import { computed } from 'vue'
import { bytes, compact, duration } from '@/ui/numbers'
import { errors, statements } from '@/wire/errors.gen'
import type { Reason } from '@/wire/messages.gen'
import { count, inLanguage, language, speak, t, translate } from '.'
import { catalogue } from './de'
import { ago, list } from './format'
import { german } from './errors.de'
import { statementsInGerman } from './statements.de'

const SRC = join(process.cwd(), 'src')
const files = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((f) =>
    f.isDirectory() ? files(join(folder, f.name)) : [join(folder, f.name)],
  )
const sources = files(SRC)
const name = (path: string) => relative(SRC, path)

async function choose(to: string | null) {
  dispatchEvent(new StorageEvent('storage', { key: 'sayso:language', newValue: to }))
  await speak()
}
afterEach(() => choose(null))

describe('the language', () => {
  it('is the chosen one, also in text that is already shown', async () => {
    const shown = computed(() => t.shell.newSession)
    expect(shown.value).toBe('New session')
    await choose('de')
    expect(shown.value).toBe('Neue Sitzung')
    expect(language.value).toBe('de')
    expect(document.documentElement.lang).toBe('de')
    await choose('en')
    expect(shown.value).toBe('New session')
  })

  it('is a known one, whatever is stored', async () => {
    await choose('constructor')
    expect(language.value).toBe('en')
  })

  it('applies to a catalog that is loaded later', async () => {
    await choose('de')
    expect(inLanguage('session', { fork: 'Fork' }).fork).toBe('Abzweigen')
  })

  it('determines the format of numbers, plurals, lists and durations', async () => {
    expect([count(1, 'line', 'lines'), count(2, 'line', 'lines'), list(['a', 'b', 'c']), ago(130)]).toEqual([
      '1 line',
      '2 lines',
      'a, b, and c',
      '2 min. ago',
    ])
    await choose('de')
    expect([
      bytes(1536),
      duration(0.34),
      duration(180_000),
      compact(1234),
      list(['a', 'b', 'c']),
      ago(130),
      t.session.cost(0.5),
    ]).toEqual(['1,5 kB', '0,3 s', '2 Tage', '1234', 'a, b und c', 'vor 2 Min.', '0,50\u00a0$'])
  })
})

describe('the catalogs', () => {
  const rooms = sources.filter((f) => f.endsWith('/words.en.ts')).map((f) => dirname(f))

  it.each(rooms.map(name))('%s has its texts in German, under its own name', (room) => {
    expect(existsSync(join(SRC, room, 'words.de.ts')), `${room}/words.de.ts`).toBe(true)
    expect(Object.keys(catalogue)).toContain(room)
    expect(readFileSync(join(SRC, room, 'words.ts'), 'utf8')).toContain(`inLanguage('${room}', `)
  })

  it('are read through the language, never directly', () => {
    const past = sources
      .filter((f) => /words\.en'|messages\.en'/.test(readFileSync(f, 'utf8')))
      .map(name)
      .filter((f) => !/(^|\/)words\.(ts|de\.ts)$|^i18n\//.test(f))
    expect(past).toEqual([])
  })

  // One with a _ is named by what the server says, and so are those of a table that own() reads.
  it('contain no unused text', () => {
    const catalogues = /(words|messages)\.(en|de)\.ts$/
    const code = sources
      .filter((f) => /\.(ts|vue)$/.test(f) && !catalogues.test(f) && !f.endsWith('.test.ts'))
      .map((f) => readFileSync(f, 'utf8'))
      .join('\n')
    const used = new Set(code.match(/[A-Za-z_$][\w$]*/g))
    const tables = new Set([...code.matchAll(/\bown\(words\.(\w+),/g)].map((m) => m[1]!))
    const withoutTables = (text: string) =>
      text.replace(/^ {2}(\w+): \{[^}]*\}/gm, (table, key: string) => (tables.has(key) ? '' : table))
    const unused = sources
      .filter((f) => catalogues.test(f) && f.endsWith('.en.ts'))
      .flatMap((f) =>
        [...withoutTables(readFileSync(f, 'utf8')).matchAll(/^ {2,4}([A-Za-z]\w*):/gm)]
          .map((m) => m[1]!)
          .filter((key) => !key.includes('_') && !used.has(key))
          .map((key) => `${name(f)}: ${key}`),
      )
    expect(unused).toEqual([])
  })

  // A word alone may well be the same in both.
  it('contain every text in German', () => {
    const leaves = (words: object, path: string): [string, string][] =>
      Object.entries(words).flatMap(([key, word]): [string, string][] =>
        typeof word === 'string'
          ? [[`${path}.${key}`, word]]
          : typeof word === 'object' && word !== null
            ? leaves(word as object, `${path}.${key}`)
            : [],
      )
    const english = new Map(
      Object.entries(
        import.meta.glob<Record<string, object>>(['../*/words.en.ts', './messages.en.ts'], { eager: true }),
      ).flatMap(([path, module]) =>
        leaves(module['words'] ?? module['en']!, path.startsWith('./') ? 'i18n' : path.split('/')[1]!),
      ),
    )
    const untold = Object.entries(catalogue)
      .flatMap(([room, words]) => leaves(words, room))
      .filter(([key, word]) => english.get(key) === word && /[a-z]{2,} [a-z]{2,}/i.test(word))
    expect(untold).toEqual([])
  })
})

describe('a statement of the server', () => {
  const names = (text: string) => [...text.matchAll(/\{(\w+(?::\w+)?)\}/g)].map((m) => m[1]!)

  it.each(Object.entries(statementsInGerman))('%s uses only the parameters that it has', (reason, text) => {
    expect(names(text).toSorted()).toEqual(names(statements[reason as keyof typeof statements]).toSorted())
  })

  it.each<[string, Reason, string]>([
    ['Approved by Ada.', { reason: 'approved', params: { by: 'Ada' } }, 'Genehmigt von Ada.'],
    ['Approved.', { reason: 'approved' }, 'Genehmigt.'],
    [
      'Denied by Ada: Use pnpm: not npm.',
      { reason: 'denied_why', params: { by: 'Ada', why: 'Use pnpm: not npm.' } },
      'Abgelehnt von Ada: Use pnpm: not npm.',
    ],
    [
      'Denied and stopped: [no] {by}',
      { reason: 'record_stopped', params: { why: '[no] {by}' } },
      'Abgelehnt und unterbrochen: [no] {by}',
    ],
    [
      'The Claude process ended by itself (exit status 1). It said: boom',
      { reason: 'ended_by_itself', params: { how: 'exit status 1', output: 'boom' } },
      'Der Claude-Prozess wurde unerwartet beendet (exit status 1). Ausgabe: boom',
    ],
    [
      'Nobody sent a message for 2 hours.',
      { reason: 'idle', params: { limit: 7200 } },
      '2 Stunden lang kam keine Nachricht.',
    ],
    [
      'The weekly limit of the Claude account is reached.',
      { reason: 'quota_reached', params: { quota: 'weekly' } },
      'Das Limit des Claude-Kontos (7 Tage) ist erreicht.',
    ],
  ])('%s', async (english, reason, inGerman) => {
    expect(t.translateReason(english, reason)).toBe(english)
    await choose('de')
    expect(t.translateReason(english, reason)).toBe(inGerman)
  })

  it('is translated in a field of an object', async () => {
    const session = { stuck: null, error: 'The server was stopped.', reasons: { error: { reason: 'server_stopped' } } }
    expect(translate(session, 'error')).toBe('The server was stopped.')
    await choose('de')
    expect(translate(session, 'error')).toBe('Der Server wurde beendet.')
    expect(translate(session, 'stuck')).toBe('')
    expect(translate({ text: 'An old note.' }, 'text')).toBe('An old note.')
  })
})

describe('an error of the server', () => {
  const names = (text: string) => [...text.matchAll(/\{(\w+(?::usd)?)\}/g)].map((m) => m[1]!)

  it.each(Object.entries(german))('%s uses only the parameters that it has', (reason, text) => {
    const known = names(errors[reason as keyof typeof errors])
    expect(names(text).filter((n) => !known.includes(n))).toEqual([])
    expect(text.replace(/\{\w+(:usd)?\}/g, '')).not.toMatch(/[{}]/)
  })

  it('is translated by its reason, whatever its text', async () => {
    const english = 'A later version words it so.'
    const error = { reason: 'password_too_short', params: { min: 12 } }
    expect(t.translateReason(english, error)).toBe(english)
    await choose('de')
    expect(t.translateReason(english, error)).toBe(
      'Ein Passwort braucht mindestens 12 Zeichen. Gut geeignet sind mehrere Wörter ohne Zusammenhang.',
    )
  })

  it('formats lists, amounts, sizes and roles for the language', async () => {
    await choose('de')
    const say = (reason: keyof typeof errors, params: Record<string, string | number | string[]>) =>
      t.translateReason('', { reason, params })
    expect(say('answer_restricted', { people: ['Ada', 'Bo'], project: 'api' })).toBe(
      'In api können nur diese Personen antworten: Ada und Bo.',
    )
    expect(say('limit_project_cost', { project: 'api', max: 5, used: 0.0312 })).toContain(
      'sind auf 5,00\u00a0$ am Tag begrenzt und haben heute 0,0312\u00a0$ gekostet',
    )
    expect(say('attachment_too_large', { name: 'a', size: 24.5, max: 24 })).toBe(
      '„a“ hat 24,5 MB. Eine Datei darf bis zu 24 MB haben.',
    )
    expect(say('role_needed', { role: 'member' })).toBe('Dafür ist die Rolle Mitglied nötig. Bitte einen Admin darum.')
  })

  it('is shown unchanged when its reason is unknown', async () => {
    await choose('de')
    expect(t.translateReason('Something new.', { reason: 'later' })).toBe('Something new.')
    expect(t.translateReason('Something new.', { reason: 'constructor' })).toBe('Something new.')
  })
})

describe('no component contains text of its own', () => {
  // Names and signs, which are the same in every language.
  const NAMES = /\b(sayso|Claude Code|Claude|Bash|ntfy|JSON|kB|MB)\b/g
  const SPOKEN = new Set([
    'aria-label',
    'aria-description',
    'aria-roledescription',
    'title',
    'placeholder',
    'alt',
    'label',
    'summary',
  ])
  const wordy = (text: string) => /\p{L}{2}/u.test(text.replace(NAMES, ''))

  interface Node {
    type: number
    content?: string | { content: string }
    children?: Node[]
    props?: Prop[]
    tag?: string
  }
  interface Prop {
    type: number
    name: string
    value?: { content: string }
    arg?: { content: string }
    exp?: { content: string }
  }

  // Text in an expression: a literal with a blank, or one that begins as a sentence does.
  const literals = (expression: string) =>
    [...expression.matchAll(/'([^']*)'|"([^"]*)"|`([^`]*)`/g)]
      .map((m) => m[1] ?? m[2] ?? m[3]!.replace(/\$\{[^}]*\}/g, ''))
      .filter(
        (s) => wordy(s) && (/\p{L} \p{L}/u.test(s) || /^\p{Lu}\p{Ll}/u.test(s)) && !/^M\d|^[A-Z]\w*\.vue$/.test(s),
      )

  function* visible(node: Node): Generator<string> {
    if (node.type === 2 && typeof node.content === 'string' && wordy(node.content)) yield node.content.trim()
    if (node.type === 5 && typeof node.content === 'object') yield* literals(node.content.content)
    for (const p of node.props ?? []) {
      if (p.type === 6 && SPOKEN.has(p.name) && wordy(p.value?.content ?? '')) yield `${p.name}="${p.value!.content}"`
      if (p.type === 7 && p.name === 'bind' && p.exp && SPOKEN.has(p.arg?.content ?? '')) yield* literals(p.exp.content)
    }
    if (node.tag !== 'code') for (const child of node.children ?? []) yield* visible(child)
  }

  it.each(sources.filter((f) => f.endsWith('.vue')).map(name))('%s', (file) => {
    const { descriptor } = parse(readFileSync(join(SRC, file), 'utf8'), { filename: file })
    expect([...visible(descriptor.template!.ast as unknown as Node)]).toEqual([])
  })
})

// @vitest-environment jsdom
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parse } from 'vue/compiler-sfc'
import { afterEach, describe, expect, it } from 'vitest'
import { computed } from 'vue'
import { bytes, compact, duration } from '@/ui/numbers'
import { errors } from '@/wire/errors.gen'
import { count, inLanguage, language, speak, t } from '.'
import { catalogue } from './de'
import { ago, list } from './format'
import { german } from './errors.de'
import { said } from './server.de'

const SRC = join(process.cwd(), 'src')
const files = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((f) =>
    f.isDirectory() ? files(join(folder, f.name)) : [join(folder, f.name)],
  )
const sources = files(SRC)
const name = (path: string) => relative(SRC, path)

async function choose(to: string | null) {
  if (to === null) localStorage.removeItem('sayso:language')
  else localStorage.setItem('sayso:language', to)
  await speak()
}
afterEach(() => choose(null))

describe('the language', () => {
  it('is the one that was chosen, in what is shown already too', async () => {
    const shown = computed(() => t.shell.newSession)
    expect(shown.value).toBe('New session')
    await choose('de')
    expect(shown.value).toBe('Neue Sitzung')
    expect(language.value).toBe('de')
    expect(document.documentElement.lang).toBe('de')
    await choose('en')
    expect(shown.value).toBe('New session')
  })

  it('is one that is known, whatever is stored', async () => {
    await choose('constructor')
    expect(language.value).toBe('en')
  })

  it('holds for a room that is loaded later', async () => {
    await choose('de')
    expect(inLanguage('session', { fork: 'Fork' }).fork).toBe('Abzweigen')
  })

  it('decides how numbers, plurals, lists and spans are written', async () => {
    expect([count(1, 'line', 'lines'), count(2, 'line', 'lines'), list(['a', 'b', 'c']), ago(130)]).toEqual([
      '1 line',
      '2 lines',
      'a, b, and c',
      '2 min. ago',
    ])
    await choose('de')
    expect([bytes(1536), duration(0.34), compact(1234), list(['a', 'b', 'c']), ago(130), t.session.cost(0.5)]).toEqual([
      '1,5 kB',
      '0,3 s',
      '1234',
      'a, b und c',
      'vor 2 Min.',
      '0,50\u00a0$',
    ])
  })
})

describe('the catalogues', () => {
  const rooms = sources.filter((f) => f.endsWith('/words.en.ts')).map((f) => dirname(f))

  it.each(rooms.map(name))('%s has its words in German, under its own name', (room) => {
    expect(existsSync(join(SRC, room, 'words.de.ts')), `${room}/words.de.ts`).toBe(true)
    expect(Object.keys(catalogue)).toContain(room)
    expect(readFileSync(join(SRC, room, 'words.ts'), 'utf8')).toContain(`inLanguage('${room}', `)
  })

  it('are read through the language, never past it', () => {
    const past = sources
      .filter((f) => /words\.en'|messages\.en'/.test(readFileSync(f, 'utf8')))
      .map(name)
      .filter((f) => !/(^|\/)words\.(ts|de\.ts)$|^i18n\//.test(f))
    expect(past).toEqual([])
  })

  // One with a _ is named by what the server says.
  it('hold no word that nobody says', () => {
    const catalogues = /(words|messages)\.(en|de)\.ts$/
    const code = sources
      .filter((f) => /\.(ts|vue)$/.test(f) && !catalogues.test(f) && !f.endsWith('.test.ts'))
      .map((f) => readFileSync(f, 'utf8'))
      .join('\n')
    const used = new Set(code.match(/[A-Za-z_$][\w$]*/g))
    const unused = sources
      .filter((f) => catalogues.test(f) && f.endsWith('.en.ts'))
      .flatMap((f) =>
        [...readFileSync(f, 'utf8').matchAll(/^ {2,4}([A-Za-z]\w*):/gm)]
          .map((m) => m[1]!)
          .filter((key) => !key.includes('_') && !used.has(key))
          .map((key) => `${name(f)}: ${key}`),
      )
    expect(unused).toEqual([])
  })

  // A word alone may well be the same in both.
  it('say everything in German', () => {
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

describe('what the server says', () => {
  it.each([
    ['Approved by Ada with changes.', 'Von Ada mit Änderungen genehmigt.'],
    ['Approved', 'Genehmigt'],
    ['Approved, edited, with permissions', 'Genehmigt, bearbeitet, mit Berechtigungen'],
    ['Denied and stopped: Not here.', 'Abgelehnt und unterbrochen: Not here.'],
    ['Declined: decide yourself', 'Nicht beantwortet: decide yourself'],
    ['Answered by Ada: Blue, "as ever"', 'Von Ada beantwortet: Blue, "as ever"'],
    ['Denied by Ada: Use pnpm: not npm.', 'Von Ada abgelehnt: Use pnpm: not npm.'],
    [
      'The Claude process ended by itself (exit status 1). It said: boom',
      'Der Claude-Prozess wurde unerwartet beendet (exit status 1). Ausgabe: boom',
    ],
    ['Nobody wrote for 2 hours.', 'Keine Nachricht, 2 Stunden lang.'],
    ['Something new.', 'Something new.'],
  ])('%s', (english, german) => expect(said(english)).toBe(german))

  // Sentences, as they stand in the source of the rooms whose words reach a page.
  it('has German words for every sentence', () => {
    const ROOMS = [
      'wsapi',
      'httpapi',
      'wire',
      'internal/decision',
      'internal/access',
      'internal/refusal',
      'internal/command',
      'pending',
      'orchestrator',
      'internal/account',
      'internal/alert',
      'internal/project',
      'internal/workspace',
      'internal/attachment',
    ]
    // What only scripts, the log, metrics or Claude get to read.
    const ELSEWHERE = /^(decode|shape|health|metrics|adapters_rest|mcp|ask|words|hook)\.go$/
    const NOT_SHOWN = [
      'The parameter',
      'The body ',
      'The query ',
      'The request names no host',
      'The field ',
      'Send the body as',
      'A command needs a command_id',
      'The number of an entry',
      'Requests of type',
      'The answer is of type',
      'The answer must say',
      'The decision is',
      'A message goes only',
      'Only a deny can',
      'Nothing was asked here',
      'An edited input goes only',
      'Permissions go only',
      'The permissions ',
      'Permission %d is not an object',
      'There is no question',
      '%s is asked more than once',
      'The conversation to resume is named',
      'There is no occasion',
      'There is no way',
      'Benachrichtigungen kommen',
      'Notifications work',
      'There is nothing at this address',
      'End one of them first',
      'A rule of %s is about files where the shell is now',
    ]
    // What stands where, so that it reads as the server would write it.
    const sample = (text: string) =>
      text
        .replace('has %s; a file may have %s', 'has 30.0 MB; a file may have 24.0 MB')
        .replace(/^%s (needs|is answered|has no|takes|cannot be shown)/, '“Which one?” $1')
        .replace(/(?<=(chosen twice in|not an option of) )%s/, '“Which one?”')
        .replace(/^%s may /, 'All sessions of Ada together may ')
        .replace(/(?<=(first|raises the limit)\. )%s$/, '')
        .replace(/so many run\. %s$/, 'so many run. End one of them first.')
        .replace(/they take %d MB\. %s$/, 'they take 3 MB. End one of them first.')
        .replace(/^%s\. Trying/, 'The Claude API is overloaded (529). Trying')
        .replace(/^Only %s may %s in/, 'Only Ada may answer in')
        .replace(/^%s has %s this,/, 'Ada has approved this,')
        .replace(/%(\.0f|d)/g, '3')
        .replace(/%q/g, '"x"')
        .replace(/%[sv]/g, 'Ada')
    const untold = ROOMS.flatMap((room) => {
      const folder = join(process.cwd(), '..', room)
      return readdirSync(folder)
        .filter((f) => f.endsWith('.go') && !f.endsWith('_test.go') && !ELSEWHERE.test(f))
        .flatMap((f) => {
          const code = readFileSync(join(folder, f), 'utf8')
            .replace(/^\s*\/\/.*$/gm, '')
            .replace(/Log\.\w+\(.*$|\.log\.\w+\(.*$/gm, '')
          return [...code.matchAll(/"((?:[^"\\\n]|\\.)*)"/g)].flatMap((m) => {
            const text = m[1]!.replaceAll('\\"', '"')
            if (!/^([A-Z%“]).* .*[.?]$/.test(text) || NOT_SHOWN.some((n) => text.startsWith(n))) return []
            return said(sample(text)) === sample(text) ? [`${room}/${f}: ${text}`] : []
          })
        })
    })
    expect(untold.toSorted()).toEqual([])
  })

  // Of what agents are told only the reasons for which a question goes reach a page.
  it('has German words for every reason why the question of an agent goes', () => {
    const folder = join(process.cwd(), '../mcpapi')
    const reasons = readdirSync(folder)
      .filter((f) => f.endsWith('.go') && !f.endsWith('_test.go'))
      .flatMap((f) =>
        [
          ...readFileSync(join(folder, f), 'utf8').matchAll(
            /(?:= errorMessage\(|Withdraw\([^"\n]*|^\t"\w+": +)"([A-Z][^"]*\.)"/gm,
          ),
        ].map((m) => m[1]!),
      )
    expect(reasons.length).toBeGreaterThan(6)
    expect(reasons.filter((reason) => said(reason) === reason)).toEqual([])
  })
})

describe('an error of the server', () => {
  const names = (text: string) => [...text.matchAll(/\{(\w+(?::usd)?)\}/g)].map((m) => m[1]!)

  it.each(Object.entries(german))('%s names only what it has', (reason, text) => {
    const known = names(errors[reason as keyof typeof errors])
    expect(names(text).filter((n) => !known.includes(n))).toEqual([])
    expect(text.replace(/\{\w+(:usd)?\}/g, '')).not.toMatch(/[{}]/)
  })

  it('is shown by its reason, whatever its sentence', async () => {
    const english = 'A later version words it so.'
    const error = { reason: 'password_too_short', params: { min: 12 } }
    expect(t.said(english, error)).toBe(english)
    await choose('de')
    expect(t.said(english, error)).toBe(
      'Ein Passwort braucht mindestens 12 Zeichen. Gut geeignet sind mehrere Wörter ohne Zusammenhang.',
    )
  })

  it('writes lists, amounts, sizes and roles as the language does', async () => {
    await choose('de')
    const say = (reason: keyof typeof errors, params: Record<string, string | number | string[]>) =>
      t.said('', { reason, params })
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

  it('is found by its sentence where that alone is stored', async () => {
    await choose('de')
    expect(t.said('Passkeys belong to https://a.test. Open sayso there.')).toBe(
      'Passkeys gehören zu https://a.test. Öffne sayso dort.',
    )
  })

  it('is shown as it came when its reason is unknown', async () => {
    await choose('de')
    expect(t.said('Something new.', { reason: 'later' })).toBe('Something new.')
    expect(t.said('Something new.', { reason: 'constructor' })).toBe('Something new.')
  })
})

describe('no component holds words of its own', () => {
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

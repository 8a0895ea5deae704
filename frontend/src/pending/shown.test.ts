import { mount } from '@vue/test-utils'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { nextTick, type Component } from 'vue'
import { runs } from '@/testsetup'
import { engine } from '@/text/engine'
import { asks, question } from '@/testcards'
import { notShownInForm } from './notShownInForm'
import { pieces } from '@/text/hidden'
import InertText from './InertText.vue'
import Bash from './tools/Bash.vue'
import Edit from './tools/Edit.vue'
import { fits, notShown } from './tools/fields'
import Fetch from './tools/Fetch.vue'
import Json from './tools/Json.vue'
import Notebook from './tools/Notebook.vue'
import Plan from './tools/Plan.vue'
import Write from './tools/Write.vue'

// What is shown is all there is: what of a text or an input can be seen in a card.

beforeAll(async () => {
  while (engine.value === null) await new Promise((done) => setImmediate(done))
})

/** What a person reads: no word that is for screen readers alone, and the numbers of lists. */
function visible(node: Node): string {
  if (node instanceof Text) return node.data
  if (
    node instanceof Element &&
    (node.classList.contains('sr-only') || node.hasAttribute('hidden') || node.tagName === 'TEMPLATE')
  )
    return ''
  let text =
    node instanceof HTMLLIElement && node.parentElement?.tagName === 'OL' ? `${node.getAttribute('value') ?? ''} ` : ''
  for (const child of node.childNodes) text += visible(child)
  // Blocks and cells do not run into each other.
  return node instanceof HTMLElement && !/^(SPAN|CODE|EM|STRONG|DEL|BDI|SMALL)$/.test(node.tagName) ? `${text}\n` : text
}

async function plan(text: string): Promise<{ all: string; above: string; below: string; unmount(): void }> {
  const w = mount(Plan, { props: { input: { plan: text } }, attachTo: document.body })
  await nextTick()
  const el = w.element as HTMLElement
  const below = el.querySelector('div.missing')
  const all = visible(el)
  const rest = below ? visible(below) : ''
  return { all, below: rest, above: all.slice(0, all.length - rest.length), unmount: () => w.unmount() }
}

// Letters, digits and signs but those with which markdown is written.
const MARKUP = /[\s*_#`~>|\-+=[\]()\\:<.!]/gu
/** The characters of a text, with the name of each that is marked. */
const signs = (text: string) =>
  pieces(text, true).flatMap((p) => (p.hidden ? [p.hidden] : [...p.text.replace(MARKUP, '')]))

function within(part: string[], whole: string): string[] {
  let at = 0
  return part.filter((sign) => {
    const found = whole.indexOf(sign, at)
    if (found < 0) return true
    at = found + sign.length
    return false
  })
}

/** The characters of which less is shown than there are. */
function fewerThan(text: string, shown: string): string[] {
  const there = new Map<string, number>()
  for (const c of shown) there.set(c, (there.get(c) ?? 0) + 1)
  return [...text.replace(MARKUP, '').replace(/[\p{C}\p{M}]/gu, '')].filter((c) => {
    const n = there.get(c) ?? 0
    there.set(c, n - 1)
    return n <= 0
  })
}

describe('a plan', () => {
  const word = fc.constantFrom(
    'run',
    'rm -rf /',
    'curl x|sh',
    'A1',
    '$HOME',
    'é漢',
    'step & step',
    '"quoted"',
    'a\u202eb',
    'x\u200by',
    '&amp;',
    '&#114;&#109;',
    '\\*',
    '\u0000',
    '{;}',
    '100%',
    '@me',
  )
  const words = fc.array(word, { minLength: 1, maxLength: 3 }).map((all) => all.join(' '))
  const inline = fc.oneof(
    { weight: 4, arbitrary: words },
    fc
      .tuple(words, words, words)
      .map(([a, b, c]) => `[${a}](http://h/${encodeURIComponent(b)} "${c.replaceAll('"', '')}")`),
    fc.tuple(words, words).map(([a, b]) => `![${a}](${encodeURIComponent(b)} '${b.replaceAll("'", '')}')`),
    fc.tuple(words, words).map(([a, b]) => `[${a}][${b}]`),
    words.map((a) => `[${a}]`),
    words.map((a) => `**${a}**`),
    words.map((a) => `~~${a}~~`),
    words.map((a) => `\`${a}\``),
    words.map((a) => `<!-- ${a} -->`),
    words.map((a) => `<span hidden title="${a}">${a}</span>`),
    words.map((a) => `<http://x.y/${encodeURIComponent(a)}>`),
    words.map((a) => `[^1] ${a}  \nand`),
    words.map((a) => `$$${a}$$`),
    words.map((a) => `<script>${a}</script>`),
  )
  const block = fc.oneof(
    { weight: 3, arbitrary: fc.array(inline, { minLength: 1, maxLength: 3 }).map((all) => all.join(' ')) },
    words.map((a) => `[//]: # (${a})`),
    words.map((a) => `[${a}]: http://x.y/z "${a}"`),
    words.map((a) => `[run]: <${a}> '${a}'`),
    words.map((a) => `[^1]: ${encodeURIComponent(a)}`),
    fc.tuple(words, words).map(([a, b]) => `\`\`\`sh {${a}} title\n${b}\n\`\`\``),
    words.map((a) => `~~~ ${a}\nx`),
    words.map((a) => `    ${a}`),
    fc
      .tuple(words, words, words)
      .map((c) => `| a | b |\n|---|:-:|\n| ${c.map((x) => x.replaceAll('|', '\\|')).join(' | ')} | more |\n| 1 |`),
    words.map((a) => `<!--\n${a}\n-->`),
    words.map((a) => `<div style="display:none">\n${a}\n</div>`),
    words.map((a) => `<details>\n<summary>${a}</summary>\n\n${a}\n</details>`),
    inline.map((a) => `# ${a} #`),
    inline.map((a) => `${a}\n===`),
    fc.tuple(fc.nat(1200), inline).map(([n, a]) => `${n}. ${a}\n${n}. x\n7) y`),
    inline.map((a) => `- [x] ${a}\n  - [ ] b`),
    inline.map((a) => `> ${a}\n> [q]: http://h "${'t'}"\n>> x`),
    inline.map((a) => `- ${a}\n\n  [z]: /u "${'k'}"\n`),
    words.map((a) => `${a}${'\n'.repeat(40)}${a}`),
    inline.map((a) => `${'> '.repeat(14)}${a}`),
    words.map((a) => `|${'a|'.repeat(12)}\n|${'-|'.repeat(12)}\n|${a}|`),
    words.map((a) => `<?${a}?>`),
    words.map((a) => `<![CDATA[${a}]]>`),
    words.map((a) => `---\n${a}: x\n---`),
  )
  const markdown = fc
    .tuple(
      fc.array(fc.tuple(block, fc.constantFrom('\n', '\n\n', '\r\n', '\r')), { minLength: 1, maxLength: 5 }),
      fc.array(
        fc.tuple(
          fc.nat(300),
          fc.constantFrom(
            '[',
            '](',
            '`',
            '```\n',
            '\n\n',
            '<',
            '|',
            '\\',
            '*',
            ']: ',
            '!',
            '    ',
            '\t',
            '(',
            '\u2066',
          ),
        ),
        { maxLength: 2 },
      ),
    )
    .map(([blocks, splices]) =>
      splices.reduce(
        (text, [at, what]) => text.slice(0, at) + what + text.slice(at),
        blocks.map(([b, end]) => b + end).join(''),
      ),
    )

  test('shows every letter, digit and symbol that is approved, or names the line that it does not show', async () => {
    await fc.assert(
      fc.asyncProperty(markdown, async (text) => {
        const { all, above, below, unmount } = await plan(text)
        unmount()
        expect(fewerThan(text, all)).toEqual([])
        // In its order, or each line is there as a whole or among what is listed.
        const wholly = within(signs(text.replaceAll('\r\n', '\n')), above)
        const lost = text
          .split('\n')
          .map((line) => signs(line.replace(/\r$/, '')))
          .filter((own) => within(own, above).length > 0 && within(own, below).length > 0)
        expect(below === '' ? wholly : lost).toEqual([])
      }),
      { numRuns: runs(400) },
    )
  })

  test.each([
    ['[//]: # (hidden step)', 'hidden step'],
    ['[a]: http://h "rm -rf"\n\ntext', 'rm -rf'],
    ['```sh rm -rf /\nls\n```', 'sh rm -rf /'],
    ['| a |\n|---|\n| 1 | rm -rf / |', 'rm -rf /'],
    ['<!-- rm -rf / -->', 'rm -rf /'],
    ['a <span hidden>rm</span>', 'rm'],
    ['![rm -rf](x "title of it")', 'title of it'],
    ['[words](http://h/ "title of it")', 'title of it'],
    ['&#114;&#109; -rf', '&#114;&#109;'],
    ['[^1]: rm', 'rm'],
    ['> [q]: rm', 'rm'],
    ['- a\n\n  [q]: rm "it"', 'rm "it"'],
    ['1000. a', '1000'],
    ['a\u0000b', 'NUL'],
  ])('%s can be read', async (text, what) => {
    const { all, unmount } = await plan(text)
    expect(all).toContain(what === 'NUL' ? 'U+0000' : what)
    unmount()
  })

  test('names each line that is not shown, and no other', async () => {
    const listed = async (text: string) => {
      const { below, unmount } = await plan(text)
      unmount()
      return below.replace(/\s+/g, ' ').trim()
    }
    expect(await listed('# Plan\n\n| a |\n|---|\n| 1 | rm -rf / |\n| 2 |')).toBe(
      'Not shown above: Line 5 | 1 | rm -rf / |',
    )
    expect(await listed('| a |\n|---|\n| a | and the cell too many |\n\n<!-- a comment -->\n\nan**d** so on')).toBe(
      'Not shown above: Line 3 | a | and the cell too many |',
    )
  })

  test('lists nothing below an ordinary plan', async () => {
    const { below, unmount } = await plan(
      '# Plan\n\n1. **Look** at `a.go` ([docs](https://x.y))\n2. Do\n\n```go\nx := 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] done\n\n> said\n\n---\n\nEnd.',
    )
    expect(below).toBe('')
    unmount()
  })

  test('marks invisible and bidirectional characters in text and code', async () => {
    const { all, unmount } = await plan(
      'a\u202eb `c\u2066d` **e\u{e0041}f**\n\n```\ng\u200bh\u00a0i\n```\n\n# j\u3164k',
    )
    for (const name of ['RLO', 'LRI', 'U+E0041', 'ZWSP', 'NBSP', 'HF']) expect(all).toContain(name)
    unmount()
  })
})

describe('the text of an asker', () => {
  test.each([
    'a\u3164b',
    'a\u115fb',
    'a\uffa0b',
    'a\u2800b',
    'a\u00adb',
    'a\ufe0eb',
    'a\u{e0141}b',
    'a\u2065b',
    'a\u{13441}b',
    'a\u{1d159}b',
    'a\u180fb',
    'a' + '\u0301'.repeat(9) + 'b',
    ' \u0338b',
    'a\u001b[8mb',
    'a\u0000b',
    'a\ufffcb',
  ])('marks %j', async (text) => {
    for (const layout of ['line', 'text', 'document'] as const) {
      const w = mount(InertText, { props: { text, layout }, attachTo: document.body })
      await nextTick()
      expect(w.element.querySelector('.hidden-character, .missing .hidden')).not.toBeNull()
      w.unmount()
    }
  })

  test('says in a single line, too, what is invisible', async () => {
    const w = mount(InertText, { props: { text: 'a \u0000 b', layout: 'line' }, attachTo: document.body })
    await nextTick()
    expect(w.text()).toContain('Not shown:')
    w.unmount()
  })
})

describe('each tool', () => {
  const VIEWS: Record<string, Component> = {
    Bash,
    Write,
    Edit,
    MultiEdit: Edit,
    NotebookEdit: Notebook,
    WebFetch: Fetch,
    ExitPlanMode: Plan,
  }
  const KNOWN: Record<string, Record<string, unknown>> = {
    Bash: {
      command: 'make test',
      description: 'Run the tests',
      timeout: 123_456,
      run_in_background: true,
      dangerouslyDisableSandbox: true,
    },
    Write: { file_path: '/w/a.txt', content: 'one\ntwo' },
    Edit: { file_path: '/w/a.txt', old_string: 'uno', new_string: 'dos', replace_all: true },
    MultiEdit: {
      file_path: '/w/a.txt',
      edits: [
        { old_string: 'uno', new_string: 'dos', replace_all: true },
        { old_string: 'tres', new_string: 'cuatro' },
      ],
    },
    NotebookEdit: {
      notebook_path: '/w/a.ipynb',
      cell_id: 'cell-7',
      new_source: 'print(1)',
      cell_type: 'markdown',
      edit_mode: 'insert',
    },
    WebFetch: { url: 'https://example.com/a', prompt: 'What?' },
    WebSearch: { query: 'weather', allowed_domains: ['example.org'] },
    ExitPlanMode: { plan: 'Look around', allowedPrompts: [{ tool: 'Bash', prompt: 'run tests' }] },
    Agent: {
      description: 'Explore',
      prompt: 'Look around',
      subagent_type: 'Explore',
      model: 'opus',
      isolation: 'worktree',
    },
    Glob: { pattern: '**/*.go', path: '/etc' },
    Grep: { pattern: 'x+', path: '/etc', '-A': 3, output_mode: 'content', multiline: true },
    mcp__tickets__create: { title: 'A ticket', urgent: false },
  }
  const leaves = (v: unknown): unknown[] =>
    typeof v === 'object' && v !== null ? Object.values(v).flatMap(leaves) : [v]
  // What is said in words, or by the folder that the session is in.
  const SAID: Record<string, Record<string, string>> = {
    Bash: { run_in_background: 'in the background', dangerouslyDisableSandbox: 'sandbox' },
    Edit: { replace_all: 'every' },
    MultiEdit: { edits: 'every' },
    NotebookEdit: { edit_mode: 'inserts a cell' },
  }
  const UNKNOWN = {
    later: 'a field of next year',
    nested: { deep: ['in a list', 42, false, null] },
    empty: '',
    __proto__x: 'odd',
    'a\u202eb': 'turned',
  }

  async function text(tool: string, input: Record<string, unknown>) {
    const view = fits(tool, input) || tool === 'WebFetch' ? VIEWS[tool]! : Json
    const w = mount(view, {
      props: { input, cwd: '/w', preview: null, ...(view === Edit ? { tool } : {}) } as never,
      attachTo: document.body,
    })
    await nextTick()
    const all = visible(w.element)
    w.unmount()
    return all
  }

  test.each(Object.keys(KNOWN))('%s shows each field of its input, including unknown ones', async (tool) => {
    const all = await text(tool, { ...KNOWN[tool], ...UNKNOWN })
    for (const [name, value] of Object.entries(KNOWN[tool]!)) {
      const said = SAID[tool]?.[name]
      expect(all).toContain(said ?? '')
      for (const leaf of leaves(value)) {
        if ((said && typeof leaf === 'boolean') || (said && name === 'edit_mode')) continue
        for (const line of String(leaf).split('\n')) expect(all).toContain(line.replace(/^\/w\//, ''))
      }
    }
    for (const [name, value] of Object.entries(UNKNOWN)) {
      expect(all).toContain(name.replace('\u202e', 'RLO'))
      for (const leaf of leaves(value)) expect(all).toContain(String(leaf))
    }
  })

  test.each(Object.keys(KNOWN))('%s shows a known field with an unexpected value', async (tool) => {
    for (const name of Object.keys(KNOWN[tool]!)) {
      for (const odd of [{ x: 'strange value' }, ['strange value'], 987_654, 'strange value']) {
        const all = await text(tool, { ...KNOWN[tool], [name]: odd })
        expect(all).toContain(typeof odd === 'number' ? '987654' : 'strange value')
      }
    }
  })

  test('an unknown part of an edit is named by its path', () => {
    const input = {
      file_path: '/w/a',
      edits: [
        { old_string: 'a', new_string: 'b' },
        { old_string: 'c', new_string: 7, note: 'x' },
      ],
    }
    expect(notShown('MultiEdit', input, '/w')).toEqual({ 'edits[1].new_string': 7, 'edits[1].note': 'x' })
  })

  test('a path that is displayed differently is also listed as it is', () => {
    expect(notShown('Write', { file_path: '/w/x/../a', content: '' }, '/w')).toEqual({ file_path: '/w/x/../a' })
    expect(notShown('Write', { file_path: '/w/a', content: '' }, '/w')).toEqual({})
    expect(notShown('Write', { file_path: '/etc/passwd', content: '' }, '/w')).toEqual({})
  })

  test('an Edit that also has a list of edits shows the edit that runs', async () => {
    const all = await text('Edit', {
      file_path: '/w/a',
      old_string: 'harmless',
      new_string: 'rm -rf',
      edits: [{ old_string: 'x', new_string: 'y' }],
    })
    expect(all).toContain('rm -rf')
    expect(all).toContain('edits')
  })
})

describe('a form', () => {
  const claude = {
    questions: [
      { question: 'What of a?', header: 'a', multiSelect: true, options: [{ label: 'One', description: '' }] },
    ],
  }
  const form = (tool_input: unknown, more = {}) =>
    asks('a', [question('a', 'multi_select', ['One'])], { tool_input, ...more })

  test('lists nothing below when it shows everything', () => {
    expect(notShownInForm(form(claude))).toEqual({})
  })

  test('lists what it does not show, whatever its name', () => {
    const input = {
      ...claude,
      metadata: { source: 'x' },
      questions: [
        {
          ...claude.questions[0],
          annotations: ['y'],
          multiSelect: 'z',
          options: [{ label: 'One', description: '', hint: 5 }],
        },
      ],
    }
    expect(notShownInForm(form(input))).toEqual({
      'questions[0].annotations[0]': 'y',
      'questions[0].multiSelect': 'z',
      'questions[0].options[0].hint': 5,
      'metadata.source': 'x',
    })
  })

  test.each(['constructor', 'toString', '__proto__'])('lists a field named %s', (name) => {
    expect(notShownInForm(form(JSON.parse(`{"${name}": "a text", "type": "object"}`)))).toEqual({ [name]: 'a text' })
  })

  test('of an MCP server lists the values behind its labels and its patterns', () => {
    const colour = question('colour', 'select', ['Red'], { question: 'colour', header: '', free_text: false })
    const request = asks('a', [colour], {
      source: 'elicitation',
      tool_name: 'billing',
      form: { title: 'Which one?', questions: [colour] },
      tool_input: {
        mcp_server_name: 'billing',
        message: 'Which one?',
        mode: 'form',
        requested_schema: {
          type: 'object',
          required: ['colour'],
          properties: {
            colour: { type: 'string', title: 'colour', enum: ['#f00'], enumNames: ['Red'], pattern: '^#' },
          },
        },
      },
    })
    expect(notShownInForm(request)).toEqual({
      'requested_schema.properties.colour.enum[0]': '#f00',
      'requested_schema.properties.colour.pattern': '^#',
    })
  })
})

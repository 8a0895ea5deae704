import { codeToTokensBase, createCssVariablesTheme, createShikiPrimitiveAsync } from 'shiki/core'
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript'
import { KINDS, type Coloured, type Task } from './kinds'

// Each grammar is a separate file, loaded for the first code in its language. Ruby, PHP and C++ are left out,
// because their grammars are as large as the app.
const LANGUAGES = {
  c: () => import('shiki/langs/c.mjs'),
  css: () => import('shiki/langs/css.mjs'),
  diff: () => import('shiki/langs/diff.mjs'),
  docker: () => import('shiki/langs/docker.mjs'),
  go: () => import('shiki/langs/go.mjs'),
  graphql: () => import('shiki/langs/graphql.mjs'),
  hcl: () => import('shiki/langs/hcl.mjs'),
  html: () => import('shiki/langs/html.mjs'),
  ini: () => import('shiki/langs/ini.mjs'),
  java: () => import('shiki/langs/java.mjs'),
  javascript: () => import('./javascript'),
  json: () => import('shiki/langs/json.mjs'),
  jsonc: () => import('shiki/langs/jsonc.mjs'),
  kotlin: () => import('shiki/langs/kotlin.mjs'),
  lua: () => import('shiki/langs/lua.mjs'),
  make: () => import('shiki/langs/make.mjs'),
  markdown: () => import('shiki/langs/markdown.mjs'),
  proto: () => import('shiki/langs/proto.mjs'),
  python: () => import('shiki/langs/python.mjs'),
  rust: () => import('shiki/langs/rust.mjs'),
  shellscript: () => import('shiki/langs/shellscript.mjs'),
  sql: () => import('shiki/langs/sql.mjs'),
  swift: () => import('shiki/langs/swift.mjs'),
  toml: () => import('shiki/langs/toml.mjs'),
  tsx: () => import('shiki/langs/tsx.mjs'),
  typescript: () => import('shiki/langs/typescript.mjs'),
  vue: () => import('shiki/langs/vue.mjs'),
  xml: () => import('shiki/langs/xml.mjs'),
  yaml: () => import('shiki/langs/yaml.mjs'),
  zig: () => import('shiki/langs/zig.mjs'),
}
type Language = keyof typeof LANGUAGES

const ALIASES = new Map<string, Language>(
  Object.entries({
    bash: 'shellscript',
    sh: 'shellscript',
    shell: 'shellscript',
    zsh: 'shellscript',
    console: 'shellscript',
    js: 'javascript',
    jsx: 'tsx',
    ts: 'typescript',
    py: 'python',
    rs: 'rust',
    golang: 'go',
    yml: 'yaml',
    md: 'markdown',
    'c++': 'c',
    cpp: 'c',
    dockerfile: 'docker',
    makefile: 'make',
    kt: 'kotlin',
    patch: 'diff',
    svg: 'xml',
    json5: 'jsonc',
    protobuf: 'proto',
    terraform: 'hcl',
    postgresql: 'sql',
    sqlite: 'sql',
    mysql: 'sql',
  } satisfies Record<string, Language>),
)

// Each token of the theme is a CSS variable with a prefix.
const theme = createCssVariablesTheme({ name: 'sayso', variablePrefix: '--' })
const PREFIX = '--token-'
const numbers = new Map<string, number>(KINDS.map((kind, i) => [kind, i]))
numbers.set('string-expression', numbers.get('string')!)

// The first line in a language compiles its grammar. Shiki's default of half a second per line is too short
// for that on a phone, and left the rest of the line uncolored.
const LINE_MS = 10_000

// Only the tokenizer, because Shiki's highlighter includes an HTML renderer.
let core: ReturnType<typeof createShikiPrimitiveAsync> | undefined

async function coloured({ code, lang }: Task): Promise<Coloured['spans']> {
  const name = Object.hasOwn(LANGUAGES, lang) ? (lang as Language) : ALIASES.get(lang)
  if (!name) return null
  core ??= createShikiPrimitiveAsync({
    themes: [theme],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  })
  const highlighter = await core
  await highlighter.loadLanguage(LANGUAGES[name]())
  const spans: number[] = []
  for (const line of codeToTokensBase(highlighter, code, {
    lang: name,
    theme: 'sayso',
    tokenizeTimeLimit: LINE_MS,
  })) {
    for (const token of line) {
      const at = token.color?.indexOf(PREFIX) ?? -1
      const kind = at < 0 ? undefined : numbers.get(token.color!.slice(at + PREFIX.length).replace(/\).*$/, ''))
      if (kind === undefined) continue
      const end = token.offset + token.content.length
      // Joins adjacent ranges of one kind.
      if (spans.length > 0 && spans.at(-1) === kind && spans.at(-2) === token.offset) spans[spans.length - 2] = end
      else spans.push(token.offset, end, kind)
    }
  }
  return Uint32Array.from(spans)
}

self.onmessage = async ({ data }: MessageEvent<Task>) => {
  const spans = await coloured(data).catch(() => null)
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
  self.postMessage({ id: data.id, spans } satisfies Coloured)
}

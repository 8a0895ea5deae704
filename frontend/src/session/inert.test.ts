import { flushPromises, mount } from '@vue/test-utils'
import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, expect, test, vi } from 'vitest'
import { defineComponent, h } from 'vue'
import { PAYLOADS } from '@/testpayloads'
import { isTried } from '@/testsetup'
import type { Item } from '@/wire/messages.gen'
import AgentGroup from './items/AgentGroup.vue'
import LiveBlock from './items/LiveBlock.vue'
import TodoStrip from './items/TodoStrip.vue'
import TranscriptItem from './items/TranscriptItem.vue'
import { provideAllOpened } from './opened'

beforeEach(() => setActivePinia(createPinia()))

const head = { seq: 1, rev: 1, key: 'k', at: 1, agent_id: null }
const tool = (tool_name: string, input: unknown, x: string): Item => ({
  ...head,
  key: tool_name,
  kind: 'tool_call',
  tool_use_id: x,
  tool_name,
  input,
  input_bytes: 1,
  status: 'done',
  result: x,
  result_bytes: x.length,
})

/** One item for every place in a transcript where words of others are shown. */
const items = (x: string): Item[] => [
  { ...head, kind: 'user', text: x, by: x, attachments: [{ name: x, media_type: x, size: 1 }] },
  { ...head, kind: 'text', text: x },
  {
    ...head,
    kind: 'text',
    text: `\`\`\`${x.replace(/\n/g, ' ')}\n${x}\n\`\`\`\n\n> ${x}\n\n- ${x}\n\n[${x}](${x})\n\n![${x}](${x} "${x}")`,
  },
  { ...head, kind: 'thinking', text: x },
  { ...head, kind: 'plan', text: x },
  { ...head, kind: 'note', level: x, text: x },
  { ...head, kind: 'todo', todos: [{ content: x, status: x }] },
  {
    ...head,
    kind: 'result',
    is_error: true,
    subtype: x,
    text: x,
    duration_ms: 1,
    num_turns: 1,
    cost_usd: 1,
    input_tokens: 1,
    output_tokens: 1,
  },
  {
    ...head,
    kind: 'resolved',
    request_id: x,
    request_type: 'tool_approval',
    tool_name: x,
    tool_input: { command: x, file_path: x },
    outcome: x,
    by: x,
    device: x,
    summary: x,
    message: x,
    edited: true,
    carried: false,
    waited: 9,
  },
  tool('Bash', { command: x, description: x }, x),
  tool('Write', { file_path: x, content: x }, x),
  tool('Edit', { file_path: x, old_string: x, new_string: x + '!' }, x),
  tool('MultiEdit', { file_path: x, edits: [{ old_string: x, new_string: '' }] }, x),
  tool('WebFetch', { url: x, prompt: x }, x),
  tool(x, { [x]: x, deep: { [x]: [x] } }, x),
  tool('mcp__a__b', x, '\u001b]8;;' + x + '\u0007' + x),
]

const Page = defineComponent({
  props: { words: { type: String, required: true }, number: { type: Number, required: true } },
  setup(props) {
    provideAllOpened()
    return () => {
      const x = props.words
      return h('div', [
        ...items(x)
          .filter((_, i) => isTried(props.number, i))
          .map((item, i) => h(TranscriptItem, { key: i, item, cwd: x })),
        h(AgentGroup, {
          agentId: x,
          cwd: x,
          item: { ...head, agent_id: x, kind: 'subagent', agent_type: x, description: x, status: 'running', result: x },
          items: items(x).slice(0, 3),
        }),
        ...(['text', 'thinking', 'tool_call'] as const).map((kind) =>
          h(LiveBlock, { key: kind, live: { kind, text: x, tool: x, agent_id: null } }),
        ),
        h(TodoStrip, { todos: [{ content: x, status: 'in_progress' }] }),
      ])
    }
  },
})

const TAGS = new Set(
  (
    'A ARTICLE BLOCKQUOTE BR BUTTON CIRCLE CODE DD DEL DIV DL DT EM FIGCAPTION FIGURE H1 H2 H3 H4 H5 H6 HR INS LI OL P PATH PRE RECT SECTION SPAN' +
    ' STRONG SVG TABLE TBODY TD TH THEAD TIME TR UL'
  ).split(' '),
)

test.each(PAYLOADS.map((p, i) => [i, p] as const))(
  'payload %i is words in each field where it is tried',
  async (number, payload) => {
    const warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
    await Promise.all([import('@/text/markdown'), import('./items/ToolDetail.vue')])
    const page = mount(Page, { props: { words: payload, number }, attachTo: document.body })
    await flushPromises()
    ;(globalThis as { ran?: unknown }).ran = undefined
    const alive: string[] = []
    for (const el of page.element.querySelectorAll('*')) {
      // The box of a task is one that nobody can press.
      const task = el.matches('input[type=checkbox]:disabled')
      if (!task && !TAGS.has(el.tagName.toUpperCase())) alive.push(`<${el.tagName}>`)
      for (const a of el.attributes) {
        if (/^(on|src|style$|formaction|action|xlink)/.test(a.name)) alive.push(a.name)
        if (a.name === 'href' && !/^(https?|mailto):/.test(a.value)) alive.push(a.value)
      }
    }
    expect(alive).toEqual([])
    expect(warned).not.toHaveBeenCalled()
    expect((globalThis as { ran?: unknown }).ran).toBeUndefined()
  },
  60_000,
)

test('there are at least a hundred payloads', () => {
  expect(new Set(PAYLOADS).size).toBeGreaterThanOrEqual(100)
})

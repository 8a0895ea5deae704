import type { FilePreview, Preview, Question, Request, RiskMark } from './wire/messages.gen'

// Every kind of card: the request and its preview. Unit tests mount them, and browser tests show them in the
// built app.

export function request(id: string, more: Partial<Request> = {}): Request {
  return {
    request_id: id,
    request_type: 'tool_approval',
    source: 'claude',
    tool_name: 'Bash',
    tool_input: { command: 'touch a', description: 'Make a file' },
    input_hash: 'sha256:' + id,
    created_at: 0,
    expires_at: null,
    status: 'open',
    agent_id: null,
    agent_type: null,
    title: null,
    description: null,
    decision_reason: null,
    blocked_path: null,
    tool_use_id: null,
    permission_suggestions: [],
    draft: null,
    ...more,
  }
}

export function question(id: string, kind: Question['kind'], labels: string[], more: Partial<Question> = {}): Question {
  return {
    id,
    question: `What of ${id}?`,
    header: id,
    kind,
    required: true,
    placeholder: null,
    free_text: true,
    options: labels.map((label) => ({ label, value: label, description: '', preview: null })),
    ...more,
  }
}

export const asks = (id: string, questions: Question[], more: Partial<Request> = {}) =>
  request(id, {
    request_type: 'ask_user_question',
    tool_name: 'AskUserQuestion',
    tool_input: {},
    form: { title: null, questions },
    ...more,
  })

export const NOTHING: Preview = { level: 'low', rules: [] }
export const file = (more: Partial<FilePreview>): Preview => ({
  ...NOTHING,
  file: {
    state: 'changes',
    failing: [],
    drifted: false,
    line: 0,
    before: '',
    after: '',
    crlf: false,
    no_newline_before: false,
    no_newline_after: false,
    ...more,
  },
})
export const command = (level: Preview['level'], marks: RiskMark[] = [], problem = ''): Preview => ({
  ...NOTHING,
  level,
  command: { steps: [], marks, problem },
})
export const tool = (tool_name: string, tool_input: object, more: Partial<Request> = {}) =>
  request('a', { tool_name, tool_input, ...more })
export const lines = (n: number, text = 'echo') => Array.from({ length: n }, (_, i) => `${text} ${i + 1}`).join('\n')

/** A request and its preview, by the name of its kind. */
export const KINDS: Record<string, [Request, Preview | null]> = {
  'a command': [tool('Bash', { command: 'go test ./...', description: 'Run the tests' }), command('low')],
  'a command that nothing is known of': [tool('Bash', { command: 'go test ./...' }), null],
  'a command of high risk': [
    tool('Bash', { command: 'cd x && rm -rf build' }),
    {
      ...command('high', [{ from: 8, to: 20, kind: 'delete_tree', level: 'high', reason: 'Removes.' }]),
      command: {
        problem: '',
        marks: [{ from: 8, to: 20, kind: 'delete_tree', level: 'high', reason: 'Removes.' }],
        steps: [
          { from: 0, to: 4, text: 'cd x', depth: 0 },
          { from: 8, to: 20, text: 'rm -rf build', depth: 0, cwd: '/w/x' },
        ],
      },
      why: {
        permission_mode: 'default',
        reason: '',
        blocked_path: '',
        rules: [{ rule: 'Bash(cd:*)', behavior: 'allow', source: 'user' }],
        uncovered: ['rm -rf build'],
        smallest: ['Bash(rm -rf build)'],
      },
    },
  ],
  'a command of 200 lines': [tool('Bash', { command: lines(200) }), command('low')],
  'a command with a here-document': [tool('Bash', { command: 'cat <<EOF\na\nEOF' }), command('low')],
  'a command with hidden characters': [
    tool('Bash', { command: 'ls \u202e# x' }),
    command('high', [{ from: 3, to: 4, kind: 'hidden', level: 'high', reason: 'Hidden.' }]),
  ],
  'a command that cannot be read': [tool('Bash', { command: 'ls (' }), command('medium', [], 'It is no command.')],
  'a command with a rule': [
    tool(
      'Bash',
      { command: 'go test' },
      {
        permission_suggestions: [
          {
            type: 'addRules',
            behavior: 'allow',
            destination: 'localSettings',
            rules: [{ toolName: 'Bash', ruleContent: 'go test:*' }],
          },
        ],
      },
    ),
    {
      ...command('low'),
      rules: [
        {
          suggestion: 0,
          rule: 'Bash(go test:*)',
          form: 'prefix',
          text: 'go test',
          level: 'high',
          kind: 'launcher',
          reason: 'Runs.',
          would_allow: ['go test -exec ./x ./...'],
        },
      ],
    },
  ],
  'a new file': [
    tool('Write', { file_path: '/w/a.txt', content: 'one\ntwo\n' }),
    file({ state: 'new', line: 1, after: 'one\ntwo\n' }),
  ],
  'a file over another': [
    tool('Write', { file_path: '/w/a.txt', content: 'one\n2\n' }),
    file({ line: 11, before: 'one\ntwo\n', after: 'one\n2\n' }),
  ],
  'a file outside': [
    tool('Write', { file_path: '/etc/x', content: 'one' }),
    { ...file({ state: 'outside' }), level: 'high' },
  ],
  'a file of 1 MB': [tool('Write', { file_path: '/w/a.txt', content: 'x'.repeat(1 << 20) }), file({ state: 'large' })],
  'an edit': [
    tool('Edit', { file_path: '/w/a.txt', old_string: 'two', new_string: '2' }),
    file({
      line: 7,
      before: 'one\ntwo\n',
      after: 'one\n2\n',
      crlf: true,
      line_ends_before: 'crlf',
      line_ends_after: 'crlf',
    }),
  ],
  'an edit of a text that is not there': [
    tool('Edit', { file_path: '/w/a.txt', old_string: 'two', new_string: '2' }),
    file({ state: 'same', failing: [{ edit: 0, problem: 'not_found', found: 0 }] }),
  ],
  'an edit of a text that is there often': [
    tool('Edit', { file_path: '/w/a.txt', old_string: 'two', new_string: '2' }),
    file({ state: 'same', failing: [{ edit: 0, problem: 'many', found: 3 }] }),
  ],
  'an edit of a file that has changed': [
    tool('Edit', { file_path: '/w/a.txt', old_string: 'two', new_string: '2' }),
    file({ line: 1, before: 'two', after: '2', drifted: true, no_newline_before: true, no_newline_after: true }),
  ],
  'several edits': [
    tool('MultiEdit', {
      file_path: '/w/a.txt',
      edits: [
        { old_string: 'a', new_string: 'b' },
        { old_string: 'x', new_string: 'y' },
      ],
    }),
    file({ line: 1, before: 'a\n', after: 'b\n', failing: [{ edit: 1, problem: 'not_found', found: 0 }] }),
  ],
  'a cell of a notebook': [
    tool('NotebookEdit', { notebook_path: '/w/a.ipynb', cell_id: 'c1', new_source: 'b' }),
    file({ line: 1, before: 'a', after: 'b' }),
  ],
  'a web page': [
    tool('WebFetch', { url: 'https://example.com/x', prompt: 'What is it?' }),
    { ...NOTHING, level: 'medium' },
  ],
  'a tool of an MCP server': [
    tool('mcp__tickets__create', { title: 'A', labels: ['x'], urgent: true }),
    { ...NOTHING, level: 'medium' },
  ],
  'a plan': [tool('ExitPlanMode', { plan: '# Plan\n\n1. Look\n2. Do' }), null],
  'a plan of 500 lines': [
    tool('ExitPlanMode', {
      plan: '# Plan\n\n' + Array.from({ length: 50 }, (_, i) => `## Part ${i + 1}\n\n${lines(8, 'Do')}`).join('\n\n'),
    }),
    null,
  ],
}

const choice = (label: string, description: string, preview: string | null = null) => ({
  label,
  value: label,
  description,
  preview,
})
const FORMAT = question('format', 'select', [], {
  question: 'Which **format**?',
  header: 'Format',
  options: [choice('Summary', 'Short'), choice('Full text', 'All of it')],
})
const PARTS = question('parts', 'multi_select', [], {
  question: 'Which parts?',
  header: 'Parts',
  options: [choice('API, server', ''), choice('Web', 'What people see')],
})
const mcp = { source: 'mcp', tool_name: 'ask_user', asker: 'agent Reviewer over MCP' } as const
const elicited = (tool_input: object) =>
  ({ source: 'elicitation', tool_name: 'billing', tool_input: { mcp_server_name: 'billing', ...tool_input } }) as const

/** Requests with a form. */
export const FORMS: Record<string, Request> = {
  'a question with one answer': asks('f', [FORMAT]),
  'a question with several answers': asks('f', [PARTS]),
  'a question with previews': asks('f', [
    question('style', 'select', [], {
      header: 'Style',
      options: [choice('Plain', 'One column', '# Plain\n\none'), choice('Wide', 'Two columns', '| a | b |')],
    }),
  ]),
  'four questions': asks('f', [
    FORMAT,
    PARTS,
    question('name', 'text', [], { header: 'Name' }),
    question('sure', 'confirm', [], { header: 'Sure' }),
  ]),
  'a text for an agent': asks(
    'f',
    [
      question('name', 'text', [], {
        question: 'What is it called?',
        header: '',
        placeholder: 'v1.2',
        free_text: false,
      }),
    ],
    {
      ...mcp,
      form: {
        title: 'Release',
        questions: [
          question('name', 'text', [], {
            question: 'What is it called?',
            header: '',
            placeholder: 'v1.2',
            free_text: false,
          }),
        ],
      },
    },
  ),
  'yes or no for an agent': asks(
    'f',
    [
      question('go', 'confirm', ['Yes', 'No'], {
        question: 'Shall I publish it?',
        header: '',
        required: false,
        free_text: false,
      }),
    ],
    mcp,
  ),
  'what only takes what it offers': asks(
    'f',
    [question('ship', 'select', ['Ship', 'Wait'], { question: 'Ship it?', header: '', free_text: false })],
    { ...mcp, tool_name: 'ask_question' },
  ),
  'a form of an MCP server': asks(
    'f',
    [
      question('email', 'text', [], {
        question: 'Address',
        header: '',
        free_text: false,
        description: 'For the bill',
        format: 'email',
        max_length: 100,
      }),
      question('day', 'text', [], {
        question: 'Day of the month',
        header: '',
        free_text: false,
        required: false,
        default: ['1'],
        format: 'integer',
        minimum: 1,
        maximum: 31,
      }),
      question('what', 'multi_select', ['Hours', 'Travel', 'Parts'], {
        question: 'What is billed?',
        header: '',
        free_text: false,
        required: false,
        default: ['Hours'],
        min_items: 1,
        max_items: 2,
      }),
      question('paper', 'confirm', [], {
        question: 'On paper?',
        header: '',
        free_text: false,
        required: false,
        default: ['no'],
      }),
    ],
    elicited({ message: 'Where does the **bill** go?', mode: 'form', requested_schema: {} }),
  ),
  'a page of an MCP server': asks(
    'f',
    [question('done', 'confirm', [], { header: '', free_text: false })],
    elicited({ message: 'Pay there.', mode: 'url', url: 'https://example.org/pay?x=1', elicitation_id: 'e-1' }),
  ),
}

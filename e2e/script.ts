// Prompts that carry their own script: what the scripted model replies to it,
// in order. The language is that of claude/scriptedmodel.

export interface Block {
  text?: string
  thinking?: string
  tool?: string
  input?: Record<string, unknown>
  script?: Script
}
export interface Reply {
  blocks?: Block[]
  delay_ms?: number
  chunk_ms?: number
  status?: number
  message?: string // of the failure
  stall?: boolean
  usage?: {
    input_tokens: number
    output_tokens: number
    cache_creation_input_tokens: number
    cache_read_input_tokens: number
  } // what it costs
}
export interface Script {
  replies: (Reply | Block[])[]
  after?: string
}

export const prompt = (words: string, ...replies: Script['replies']) =>
  `${words}\n\n\`\`\`script\n${JSON.stringify({ replies })}\n\`\`\``

// The same for the scripted CLI, claude/claudetest, in a folder of the fixture `scripted`. It asks for each tool,
// one after the other; a command that was allowed runs, and a file is written.
export const play = (words: string, ...replies: Block[][]) => {
  const turn = replies
    .flat()
    .map((b) => (b.tool ? { ask: { tool_name: b.tool, input: b.input }, run: true } : { text: b.text }))
  return `${words}\n\n\`\`\`claudetest\n${JSON.stringify({ turn })}\n\`\`\``
}

export const text = (words: string): Block => ({ text: words })
export const tool = (name: string, input: Record<string, unknown>): Block => ({ tool: name, input })
export const bash = (command: string, description = ''): Block =>
  tool('Bash', description ? { command, description } : { command })
export const write = (file_path: string, content: string): Block => tool('Write', { file_path, content })

// Fetches are asked all at once, unlike Bash and Write. Tests deny them: a fetch
// that is allowed would leave this machine.
export const fetchPage = (path: string): Block =>
  tool('WebFetch', { url: `http://127.0.0.1:9/${path}`, prompt: 'What does it say?' })

// A subagent with a script of its own. 2.1.329 runs it in the background unless
// told otherwise: the turn then ends while its requests are open.
export const subagent = (description: string, background: boolean, ...replies: Script['replies']): Block => ({
  tool: 'Task',
  input: {
    description,
    prompt: `You are ${description}.`,
    subagent_type: 'general-purpose',
    run_in_background: background,
  },
  script: { replies, after: `${description} is done.` },
})

// A plan lives in the file that the CLI names; 2.1.329 drops one that comes as input.
export const plan = (words: string): Block[][] => [
  [tool('Write', { file_path: '{{plan_file}}', content: words })],
  [tool('ExitPlanMode', {})],
]

export interface Choice {
  label: string
  description: string
}
// An option is a label, or a label and what is said about it.
export const question = (
  words: string,
  header: string,
  options: (string | [string, string])[],
  multiSelect = false,
) => ({
  question: words,
  header,
  multiSelect,
  options: options.map((o): Choice =>
    typeof o === 'string' ? { label: o, description: `About ${o}` } : { label: o[0], description: o[1] },
  ),
})
export const ask = (...questions: ReturnType<typeof question>[]): Block => tool('AskUserQuestion', { questions })

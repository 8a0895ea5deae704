// Drives the official TypeScript SDK: node typescript.mjs FOLDER, in which
// @anthropic-ai/claude-agent-sdk is installed.
import { actions, claude, emit, installed, Waiting } from './lines.mjs'

const { version, exports: sdk } = await installed(process.argv[2], '@anthropic-ai/claude-agent-sdk')
const waiting = new Waiting()
const sessions = new Map() // by folder

function start(dir, text, resume) {
  let push
  const queue = [text]
  const session = { id: resume, closed: false, push: (t) => (queue.push(t), push?.()), end: () => ((session.closed = true), push?.()) }
  async function* prompts() {
    for (;;) {
      while (queue.length > 0) yield { type: 'user', session_id: '', parent_tool_use_id: null, message: { role: 'user', content: queue.shift() } }
      if (session.closed) return
      await new Promise((resolve) => (push = resolve))
    }
  }
  session.query = sdk.query({
    prompt: prompts(),
    options: {
      pathToClaudeCodeExecutable: claude, cwd: dir, permissionMode: 'default', settingSources: [], resume,
      canUseTool: async (tool, input, { signal, toolUseID }) => {
        const answer = await waiting.ask(tool, input, signal)
        if (!answer) return null // nothing is sent
        if (answer.allow) return { behavior: 'allow', updatedInput: answer.input ?? input, toolUseID }
        return { behavior: 'deny', message: answer.message ?? '', toolUseID }
      },
    },
  })
  sessions.set(dir, session)
  void (async () => {
    try {
      for await (const message of session.query) session.id = message.session_id ?? session.id
    } catch (error) {
      console.error(error) // the end is an event, whatever its reason
    }
    emit({ event: 'ended' })
  })()
}

emit({ event: 'ready', host: `TypeScript SDK ${version}`, cannot: ['restart'] })
await actions(async (action) => {
  const session = sessions.get(action.dir)
  switch (action.do) {
    case 'prompt':
      if (session) session.push(action.text)
      else start(action.dir, action.text)
      break
    case 'resume':
      start(action.dir, action.text, session.id)
      break
    case 'answer':
      waiting.answer(action)
      break
    case 'interrupt':
      session.query.interrupt().catch(() => {})
      break
    case 'end':
      session?.end()
      session?.query.close?.()
  }
})

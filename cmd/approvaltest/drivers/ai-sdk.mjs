// Drives the provider for Vercel's AI SDK: node ai-sdk.mjs FOLDER, in which
// ai-sdk-provider-claude-code and ai are installed.
import { actions, claude, emit, installed, Waiting } from './lines.mjs'

const { version, exports: provider } = await installed(process.argv[2], 'ai-sdk-provider-claude-code')
const { exports: ai } = await installed(process.argv[2], 'ai')
const waiting = new Waiting()
const sessions = new Map() // by folder

async function turn(dir, text, resume) {
  const stop = new AbortController()
  sessions.set(dir, { ...sessions.get(dir), stop })
  const model = provider.createClaudeCode()('sonnet', {
    pathToClaudeCodeExecutable: claude, cwd: dir, permissionMode: 'default', settingSources: [], streamingInput: 'always', resume,
    canUseTool: async (tool, input, { signal, toolUseID }) => {
      const answer = await waiting.ask(tool, input, signal)
      if (!answer) return null // nothing is sent
      if (answer.allow) return { behavior: 'allow', updatedInput: answer.input ?? input, toolUseID }
      return { behavior: 'deny', message: answer.message ?? '', toolUseID }
    },
  })
  try {
    const result = await ai.generateText({ model, prompt: text, abortSignal: stop.signal, maxRetries: 0 })
    const id = result.providerMetadata?.['claude-code']?.sessionId
    if (id) sessions.set(dir, { ...sessions.get(dir), id })
  } catch (error) {
    console.error(error) // the end is an event, whatever its reason
  }
  emit({ event: 'ended' })
}

// It has one turn for each call, so there is nothing to go on with after an interrupt.
emit({ event: 'ready', host: `ai-sdk-provider-claude-code ${version}`, cannot: ['interrupt', 'resume', 'restart'] })
await actions(async (action) => {
  switch (action.do) {
    case 'prompt':
      void turn(action.dir, action.text)
      break
    case 'answer':
      waiting.answer(action)
      break
    case 'end':
      sessions.get(action.dir)?.stop.abort()
  }
})

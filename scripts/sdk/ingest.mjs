// Lets the official TypeScript SDK read a flood of the stub and prints how long
// it took from the first line to the result, in ns. See cmd/bench.
import { query } from '@anthropic-ai/claude-agent-sdk'

const [stub, prompt] = process.argv.slice(2)
async function* messages() {
  yield { type: 'user', message: { role: 'user', content: prompt }, parent_tool_use_id: null, session_id: '' }
}
for await (const message of query({ prompt: messages(), options: { pathToClaudeCodeExecutable: stub, permissionMode: 'default' } })) {
  if (message.type !== 'result') continue
  const now = BigInt(Math.round((performance.timeOrigin + performance.now()) * 1e6))
  console.log(JSON.stringify({ Took: Number(now - BigInt(message.result)) }))
  process.exit()
}

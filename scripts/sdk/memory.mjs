// Holds idle sessions of the stub with the official TypeScript SDK and prints
// what this process has resident, in bytes. See cmd/bench.
import { query } from '@anthropic-ai/claude-agent-sdk'

const [stub, count] = process.argv.slice(2)
for (let n = 0; n < Number(count); n++) {
  async function* messages() {
    yield { type: 'user', message: { role: 'user', content: 'hello' }, parent_tool_use_id: null, session_id: '' }
    await new Promise(() => {})
  }
  const session = query({ prompt: messages(), options: { pathToClaudeCodeExecutable: stub, permissionMode: 'default' } })
  for (;;) {
    const { value, done } = await session.next()
    if (done || value.type === 'result') break
  }
}
await new Promise((resolve) => setTimeout(resolve, 5000))
console.log(process.memoryUsage().rss)
process.exit()

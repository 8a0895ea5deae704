// An MCP server on stdio with one tool, which asks a person what its input says
// and returns what it is told.
import { createInterface } from 'node:readline'

const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n')
const asked = new Map() // by the id of the elicitation: the id of the call
let next = 0

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, result, error } = JSON.parse(line)
  if (method === 'initialize') {
    say({
      id,
      result: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'elicitor', version: '1' },
      },
    })
  } else if (method === 'tools/list') {
    say({ id, result: { tools: [{ name: 'elicit', description: 'Asks a person.', inputSchema: { type: 'object' } }] } })
  } else if (method === 'tools/call') {
    asked.set(`ask-${++next}`, id)
    say({ id: `ask-${next}`, method: 'elicitation/create', params: params.arguments })
  } else if (method === 'ping') {
    say({ id, result: {} })
  } else if (asked.has(id)) {
    say({ id: asked.get(id), result: { content: [{ type: 'text', text: JSON.stringify(result ?? error) }] } })
  }
}

// Drives an agent of the Agent Client Protocol that runs Claude Code: node acp.mjs NAME FOLDER, in
// which the package NAME (@agentclientprotocol/claude-agent-acp or
// @zed-industries/claude-code-acp) is installed.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { actions, claude, emit } from './lines.mjs'

const [name, folder] = process.argv.slice(2)
const root = join(folder, 'node_modules', name)
const { version, bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const agent = spawn(process.execPath, [join(root, Object.values(bin)[0])], {
  env: { ...process.env, CLAUDE_CODE_EXECUTABLE: claude },
  stdio: ['pipe', 'pipe', 'inherit'],
})
process.on('exit', () => agent.kill()) // some do not end with their input
agent.on('exit', (code) => emit({ event: 'failed', text: `the agent has ended with ${code}` }))

let last = 0
const replies = new Map() // by id of our requests
const open = new Map() // requests of the agent, by id
const sessions = new Map() // ids by folder

function send(message) {
  agent.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n')
}

function call(method, params) {
  const id = ++last
  send({ id, method, params })
  return new Promise((resolve, reject) => replies.set(id, { resolve, reject }))
}

createInterface({ input: agent.stdout }).on('line', (line) => {
  const message = JSON.parse(line)
  if (message.method === undefined) {
    const reply = replies.get(message.id)
    replies.delete(message.id)
    if (message.error) reply?.reject(new Error(JSON.stringify(message.error)))
    else reply?.resolve(message.result)
  } else if (message.method === 'session/request_permission') {
    open.set(String(message.id), message)
    emit({ event: 'asked', key: String(message.id), tool: message.params.toolCall.title, input: message.params.toolCall })
  } else if (message.method === '$/cancel_request') {
    const key = String(message.params.requestId ?? message.params.id)
    const asked = open.get(key)
    if (!asked) return
    open.delete(key)
    send({ id: asked.id, error: { code: -32800, message: 'Request cancelled' } })
    emit({ event: 'withdrawn', key })
  } else if (message.id !== undefined) {
    send({ id: message.id, error: { code: -32601, message: 'Method not found' } })
  }
})

const hello = await call('initialize', { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: false, writeTextFile: false } } })
const cannot = ['input', 'message', 'ended', 'resume', 'restart']
if (!hello.agentInfo || name.startsWith('@zed')) cannot.push('withdrawn') // the protocol had no word for it then
emit({ event: 'ready', host: `${name} ${version}`, cannot })

await actions(async (action) => {
  switch (action.do) {
    case 'prompt': {
      if (!sessions.has(action.dir)) {
        const made = await call('session/new', { cwd: action.dir, mcpServers: [] })
        sessions.set(action.dir, made.sessionId)
      }
      call('session/prompt', { sessionId: sessions.get(action.dir), prompt: [{ type: 'text', text: action.text }] }).catch(() => {})
      break
    }
    case 'answer': {
      const asked = open.get(action.key)
      open.delete(action.key)
      const option = asked?.params.options.find((o) => o.kind === (action.allow ? 'allow_once' : 'reject_once'))
      if (asked) send({ id: asked.id, result: { outcome: { outcome: 'selected', optionId: option.optionId } } })
      break
    }
    case 'interrupt':
      send({ method: 'session/cancel', params: { sessionId: sessions.get(action.dir) } })
      // As the protocol demands, the client answers what is open.
      for (const [key, asked] of open) {
        open.delete(key)
        send({ id: asked.id, result: { outcome: { outcome: 'cancelled' } } })
        emit({ event: 'withdrawn', key })
      }
      break
    case 'end':
      call('session/close', { sessionId: sessions.get(action.dir) }).catch(() => send({ method: 'session/cancel', params: { sessionId: sessions.get(action.dir) } }))
  }
})

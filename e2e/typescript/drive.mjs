// Drives the official TypeScript SDK: node drive.mjs SCENARIO CLI FOLDER. The scenarios are those of
// typescript_test.go.
import { createSdkMcpServer, query, tool } from '@anthropic-ai/claude-agent-sdk'
import { z } from 'zod'

const [scenario, cli, cwd] = process.argv.slice(2)
const uuid = '11111111-2222-4333-8444-555555555555'

const decide = async (name, input, { toolUseID, suggestions }) => {
  switch (toolUseID) {
    case 'toolu_same':
      return { behavior: 'allow', updatedInput: input }
    case 'toolu_changed':
      return { behavior: 'allow', updatedInput: { command: 'ls -l' } }
    case 'toolu_granted':
      return {
        behavior: 'allow',
        updatedInput: input,
        updatedPermissions: suggestions,
        decisionClassification: 'user_permanent',
      }
    case 'toolu_denied':
      return { behavior: 'deny', message: 'not today' }
    case 'toolu_failed':
      throw new Error('out of order')
    case 'toolu_interrupted':
      return { behavior: 'deny', message: 'stop', interrupt: true }
  }
}

// Options of a scenario. What has calls is a function of the query.
const scenarios = {
  prompt: {},
  decisions: { canUseTool: decide },
  nobody: {},
  model: {
    model: 'opus',
    fallbackModel: 'sonnet',
    betas: ['context-1m-2025-08-07'],
    effort: 'high',
    thinking: { type: 'enabled', budgetTokens: 2000 },
    maxTurns: 3,
    maxBudgetUsd: 1.5,
    taskBudget: { total: 5000 },
    outputFormat: { type: 'json_schema', schema: { type: 'object' } },
    systemPrompt: 'Be brief.',
    planModeInstructions: 'Plan.',
    title: 'A title',
    promptSuggestions: true,
    agentProgressSummaries: true,
    forwardSubagentText: true,
    includePartialMessages: true,
    includeHookEvents: true,
  },
  appended: {
    systemPrompt: {
      type: 'preset',
      preset: 'claude_code',
      append: 'Be brief.',
      excludeDynamicSections: true,
      snapshot: false,
    },
  },
  tools: {
    permissionMode: 'acceptEdits',
    allowedTools: ['Bash(ls *)', 'Read'],
    disallowedTools: ['WebFetch'],
    tools: ['Bash', 'Read'],
    toolAliases: { Bash: 'mcp__x__run' },
    additionalDirectories: ['/tmp'],
    settingSources: ['project'],
    settings: { model: 'opus' },
    managedSettings: { permissions: { deny: ['WebSearch'] } },
    skills: ['review'],
    agents: { checker: { description: 'Checks', prompt: 'Check.', tools: ['Read'], model: 'haiku' } },
    perTaskStopAffordance: true,
    enableFileCheckpointing: true,
    permissionPrompts: 'none',
    extraArgs: { workload: 'x' },
  },
  servers: {
    mcpServers: {
      here: { type: 'stdio', command: 'srv', args: ['-v'], env: { TOKEN: 't' } },
      there: { type: 'http', url: 'https://there.example', headers: { A: 'b' } },
    },
    mcpServersDelivery: 'initialize',
    strictMcpConfig: true,
    plugins: [
      { type: 'local', path: '/plugins/a' },
      { type: 'local', path: '/plugins/b', skipMcpDiscovery: true },
    ],
    pluginDelivery: 'initialize',
  },
  resumed: { resume: uuid, forkSession: true, resumeSessionAt: uuid },
  named: { sessionId: uuid, persistSession: false },
  hooks: {
    hooks: {
      PreToolUse: [
        {
          matcher: 'Bash',
          timeout: 5,
          hooks: [
            async () => ({
              hookSpecificOutput: {
                hookEventName: 'PreToolUse',
                permissionDecision: 'deny',
                permissionDecisionReason: 'no',
              },
            }),
          ],
        },
      ],
      Stop: [{ hooks: [async () => ({ decision: 'block', reason: 'go on' })] }],
    },
  },
  server: {
    mcpServers: {
      local: createSdkMcpServer({
        name: 'local',
        version: '1',
        tools: [
          tool('greet', 'Greets.', { city: z.string() }, async ({ city }) => ({
            content: [{ type: 'text', text: `Hello ${city}` }],
          })),
        ],
      }),
    },
  },
  questions: {
    supportedDialogKinds: ['k'],
    onElicitation: async () => ({ action: 'accept', content: { name: 'Ada' } }),
    onUserDialog: async () => ({ behavior: 'completed', result: { chosen: 1 } }),
  },
  unanswered: {},
  controls: async (q) => {
    await q.setPermissionMode('plan')
    await q.setModel('opus')
    await q.setModel()
    await q.setMaxThinkingTokens(1000)
    await q.applyFlagSettings({ model: 'opus' })
    await q.updateSettings('userSettings', { a: 1 })
    await q.setMcpPermissionModeOverride('s', 'default')
    await q.getContextUsage({ detail: 'summary' })
    await q.readFile('f', { maxBytes: 5, encoding: 'base64' })
    await q.reloadPlugins()
    await q.reloadSkills()
    await q.reloadOutputStyles()
    await q.rewindFiles(uuid, { dryRun: true })
    await q.seedReadState('f', 5)
    await q.mcpServerStatus()
    await q.reconnectMcpServer('s')
    await q.toggleMcpServer('s', false)
    await q.readMcpResource('s', 'ui://x')
    await q.setMcpServers({ s: { type: 'http', url: 'https://s.example' } })
    await q.stopTask('t')
    await q.backgroundTasks('toolu_1')
    await q.interrupt()
    await q.reinitialize()
  },
}

const wanted = scenarios[scenario]
const isCalls = typeof wanted === 'function'
let finish
const finished = new Promise((resolve) => (finish = resolve))
async function* stream() {
  yield { type: 'user', session_id: '', parent_tool_use_id: null, message: { role: 'user', content: 'hello' } }
  await finished
}
const q = query({
  prompt: isCalls ? stream() : 'hello',
  options: { pathToClaudeCodeExecutable: cli, cwd, settingSources: [], ...(isCalls ? {} : wanted) },
})
try {
  for await (const message of q) {
    if (message.type !== 'result' || !isCalls) continue
    await wanted(q)
    finish()
  }
} catch (error) {
  console.error(String(error)) // some scenarios end with one: what was sent counts
}

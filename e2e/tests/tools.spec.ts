// The Tools and Context panels: what Claude can use in a session, what fills its context and what it costs.
import { expectAccessible } from '../a11y.ts'
import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { Stage } from '../stage.ts'

const reply = (subtype: string, response: object) => ({ reply: { subtype, response } })
const HOSTILE = '<img src=x onerror=alert(1)>\u202egnp.exe'
const USAGE = {
  input_tokens: 76_000,
  output_tokens: 20,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
}
// A CLI that reports all of this about itself.
const REPORTS = [
  reply('mcp_status', {
    mcpServers: [
      { name: 'github', status: 'connected', scope: 'user', tools: [{ name: 'list' }, { name: 'push' }] },
      { name: HOSTILE, status: 'failed', error: HOSTILE, scope: 'project' },
      { name: 'linear', status: 'needs-auth', config: { type: 'http', url: 'https://mcp.example.org/x' } },
    ],
  }),
  reply('mcp_authenticate', { authUrl: 'https://sign-in.example.org/authorize?a=b', requiresUserAction: true }),
  reply('mcp_oauth_callback_url', {}),
  reply('get_settings', { effective: { enabledPlugins: { 'docs@acme': true } }, sources: [] }),
  reply('get_hooks_listing', {
    hooks: [
      { event: 'PreToolUse', matcher: 'Bash', source: 'projectSettings', type: 'command', commandText: './check.sh' },
    ],
    policy: {},
  }),
  reply('list_permission_rules', {
    state: {
      rules: [
        { behavior: 'allow', source: 'userSettings', rule: 'mcp__github__list' },
        { behavior: 'deny', source: 'policySettings', rule: 'Bash(rm *)' },
      ],
    },
  }),
  reply('get_context_usage', {
    totalTokens: 76_000,
    maxTokens: 200_000,
    isAutoCompactEnabled: true,
    autoCompactThreshold: 167_000,
    categories: [
      { id: 'system_prompt', name: 'System prompt', kind: 'used', tokens: 3_000 },
      { id: 'messages', name: 'Messages', kind: 'used', tokens: 60_000 },
      { id: 'system_tools', name: 'System tools', kind: 'used', tokens: 13_000 },
      { id: 'autocompact_buffer', name: 'Autocompact buffer', kind: 'buffer', tokens: 33_000 },
      { id: 'free_space', name: 'Free space', kind: 'free', tokens: 91_000 },
      { id: 'mcp_tools_deferred', name: 'MCP tools (deferred)', kind: 'deferred', tokens: 2_700 },
    ],
    memoryFiles: [{ path: '/w/CLAUDE.md', tokens: 1_200 }],
    skills: {
      skillFrontmatter: [
        { name: 'review', source: 'projectSettings' },
        { name: 'loop', source: 'built-in' },
      ],
    },
    agents: [{ agentType: 'checker', source: 'userSettings' }],
  }),
  reply('get_usage', {
    rate_limits_available: true,
    rate_limits: { five_hour: { utilization: 42, resets_at: '2026-12-01T10:00:00Z' } },
  }),
  {
    raw: JSON.stringify({
      type: 'assistant',
      parent_tool_use_id: null,
      message: {
        id: 'm1',
        role: 'assistant',
        model: 'claude-test-1',
        content: [{ type: 'text', text: 'A long story.' }],
        usage: USAGE,
      },
    }),
  },
  {
    raw: JSON.stringify({
      type: 'system',
      subtype: 'compact_boundary',
      uuid: 'c1',
      compact_metadata: { trigger: 'manual', pre_tokens: 150_000, post_tokens: 12_000 },
    }),
  },
  { cost: 0.25 },
  { text: 'Done.' },
]

test('tools are shown and changed, and context usage and cost are shown', async ({ page, server, scripted, rest }) => {
  // The panel opens with the changes since the last message, and the scripted CLI keeps no checkpoints.
  test.info().annotations.push({ type: 'allowed on the console', description: 'status of 422' })
  await page.setViewportSize({ width: 1440, height: 900 })
  await App.newSession(
    page,
    server.url,
    scripted,
    `Say.\n\n\`\`\`claudetest\n${JSON.stringify({ turn: REPORTS })}\n\`\`\``,
  )
  await expect(page.getByText('Done.', { exact: true })).toBeVisible()
  await expect(page.getByText('Conversation summarized · 150K → 12K tokens')).toBeVisible()

  await page.getByRole('button', { name: 'Changes and files' }).click()
  const panel = page.getByRole('complementary', { name: 'Session panel' })
  await panel.getByRole('tab', { name: 'Tools' }).click()
  const row = (name: string) => panel.getByRole('listitem').filter({ hasText: name })
  await expect(row('github').first()).toContainText('2 tools · asks for 1 of them')
  await expect(panel.getByText('Managed settings')).toBeVisible()
  await expect(panel.getByText('./check.sh')).toBeVisible()
  await expect(panel.getByText('/review')).toBeVisible()
  await expect(panel.getByText('docs@acme')).toBeVisible()
  // What a server calls itself is text.
  await expect(panel.locator('img')).toHaveCount(0)
  await expect(panel.getByText('<img src=x onerror=alert(1)>').first()).toBeVisible()
  await expectAccessible(page, 'the panel of tools', '.work')
  await page.setViewportSize({ width: 1440, height: 900 })

  const enabled = panel.getByRole('switch', { name: 'Enable github' })
  await enabled.click()
  await expect(panel.getByText('github disabled for all sessions in this folder.')).toBeVisible()
  await expect(enabled).not.toBeChecked()
  await enabled.click()
  await expect(enabled).toBeChecked()

  // The link is shown with its host; nothing opens by itself.
  await panel.getByRole('button', { name: 'Sign in to linear' }).click()
  const link = panel.getByRole('link', { name: 'Open sign-in.example.org' })
  await expect(link).toHaveAttribute('href', 'https://sign-in.example.org/authorize?a=b')
  expect(page.context().pages()).toHaveLength(1)
  await panel
    .getByRole('textbox', { name: 'Address of that page' })
    .fill('http://localhost:3118/callback?code=x&state=y')
  await panel.getByRole('button', { name: 'Finish sign-in' }).click()
  await expect(panel.getByText('Signed in.')).toBeVisible()
  const { entries } = await rest.get<{ entries: { entry: { what: string; server?: string } }[] }>(
    '/api/audit?newest=true',
  )
  expect(
    entries
      .map((e) => e.entry)
      .filter((e) => e.server)
      .map((e) => `${e.what} ${e.server}`),
  ).toEqual(
    expect.arrayContaining(['mcp_server_disabled github', 'mcp_server_enabled github', 'mcp_sign_in_started linear']),
  )

  // The ring leads to what fills the context.
  await page.getByRole('button', { name: 'Context and cost' }).click()
  await expect(panel.getByRole('tab', { name: 'Context' })).toHaveAttribute('aria-selected', 'true')
  await expect(panel.getByText('38 %')).toBeVisible()
  await expect(panel.getByRole('row', { name: 'Messages 60K' })).toBeVisible()
  await expect(panel.getByText('Claude Code summarizes the conversation at 167K tokens.')).toBeVisible()
  await expect(panel.getByText('42 % used')).toBeVisible()
  await expect(panel.getByRole('img', { name: /^Last 30 days\. Highest: \$/ })).toBeVisible()
  await panel.getByRole('button', { name: 'Table' }).first().click()
  await expect(panel.getByRole('row', { name: 'Turn 1 $0.25' })).toBeVisible()
  await expectAccessible(page, 'the panel of context and cost', '.work')
})

test('the panel shows the tasks and subagents of Claude @newest', async ({ page, server }) => {
  const stage = await Stage.in(page)
  const todo = (content: string, status: string) => ({ content, status })
  stage.show([], { state: 'assistant_turn' })
  await stage.open(server.url)
  stage.say(
    { kind: 'todo', todos: [todo('Read the limiter', 'completed'), todo('Let it slide', 'in_progress')] },
    { kind: 'subagent', agent_id: 'a1', agent_type: 'Reader', description: 'Reads the tests', status: 'running' },
  )
  const nothing = { repository: 'missing', branch: '', head: '', base: 'head', main_branch: '', files: [], more: false }
  await page.route('**/changes?*', (route) => route.fulfill({ json: nothing }))
  await page.getByRole('button', { name: 'Changes and files' }).click()
  const panel = page.getByRole('complementary', { name: 'Session panel' })
  await panel.getByRole('tab', { name: 'Tasks 1/2' }).click()
  await expect(panel.getByRole('list').first().getByRole('listitem')).toHaveText([/Read the limiter/, /Let it slide/])
  await expectAccessible(page, 'the panel of tasks', '.work')
  await page.setViewportSize({ width: 1440, height: 900 })
  await panel.getByRole('button', { name: /Reader.*Reads the tests/ }).click()
  await expect(page).toHaveURL(/block=/)
})

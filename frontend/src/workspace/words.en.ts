import { count } from '@/i18n'

// The texts of the dialog that asks whether a folder is trusted.
export const words = {
  title: 'Trust this folder?',
  titleChanged: 'The settings of this folder have changed',
  lead: 'Claude loads these settings from the folder without asking. Nothing has run yet.',
  trustedBefore: (by: string, ago: string) => `${by} trusted this folder ${ago}.`,
  changes: (fresh: number, gone: number) =>
    [fresh > 0 ? `${fresh} new or changed` : '', gone > 0 ? `${gone} removed` : ''].filter(Boolean).join(', ') + '.',
  kind: {
    hook: 'Hooks',
    mcp_server: 'MCP servers',
    helper: 'Helpers',
    variable: 'Variables',
    rule: 'Allowed without asking',
    setting: 'Settings',
    agent: 'Agents',
    command: 'Slash commands',
    skill: 'Skills',
    git: 'Run by Git',
    unreadable: 'Unreadable files',
  },
  about: {
    hook: 'Commands that Claude runs automatically on these events.',
    mcp_server: 'Programs or addresses that Claude connects to when it starts.',
    helper: 'Commands that Claude runs for API keys, the status line and similar tasks.',
    variable: 'Set for Claude and everything it runs.',
    rule: 'Tool calls that need no approval if this folder is also trusted in a terminal.',
    setting: 'Other settings that may not be safe.',
    agent: 'Subagents with their own hooks, servers or permissions.',
    command: 'Slash commands that run programs.',
    skill: 'Skills with their own hooks or permissions.',
    git: 'Programs that Git runs in this repository.',
    unreadable: 'sayso can’t tell how Claude uses these files.',
  },
  danger: {
    runs: 'runs without asking',
    redirects: 'redirects Claude',
    permits: 'allows without asking',
    changes: 'changes how Claude works',
  },
  fresh: 'new',
  truncated: 'Showing only the beginning.',
  removed: 'Removed',
  instructionFiles: (n: number) => `${count(n, 'file with instructions', 'files with instructions')} for Claude`,
  scripts: 'You trust these commands as shown here. Scripts that they call can change later without asking you.',
  cannotSkip: 'Git includes files here that can’t be skipped, so Claude can’t start without these settings.',
  machineRefuses:
    'This machine doesn’t load the settings of this folder. To allow them, add the folder to trusted-folder in the settings of the machine.',
  trust: 'Trust this folder and start',
  startWithout: 'Start without these settings',
}

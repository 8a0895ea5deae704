import { count } from '@/i18n'

// The words of the question whether a folder is trusted.
export const words = {
  title: 'Trust this folder?',
  titleChanged: 'The settings of this folder have changed',
  lead: 'Claude takes the following from this folder, without asking anybody. Nothing of it has run yet.',
  before: (by: string, ago: string) => `${by} trusted this folder ${ago}.`,
  changes: (fresh: number, gone: number) =>
    [fresh > 0 ? `${fresh} of what follows is new or different` : '', gone > 0 ? `${gone} is gone` : '']
      .filter(Boolean)
      .join(', ') + '.',
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
    unreadable: 'Cannot be read',
  },
  about: {
    hook: 'Commands that Claude runs by itself at these moments.',
    mcp_server: 'Programs or addresses that are connected as soon as Claude starts.',
    helper: 'Commands that Claude runs for keys, its status line and the like.',
    variable: 'Set for Claude and everything it runs.',
    rule: 'What nobody is asked about any more, if this folder is trusted in a terminal too.',
    setting: 'Other settings that are not known to be harmless.',
    agent: 'Subagents with hooks, servers or rights of their own.',
    command: 'Commands that run something when they are used.',
    skill: 'Skills with hooks, or with rights of their own.',
    git: 'Programs that this repository has Git run.',
    unreadable: 'Nobody can say what Claude makes of these files.',
  },
  danger: {
    runs: 'runs without asking',
    redirects: 'redirects Claude',
    permits: 'permits without asking',
    changes: 'changes how Claude works',
  },
  fresh: 'new',
  cut: 'Only the beginning is shown.',
  gone: 'No longer there',
  told: (n: number) => `${count(n, 'file only tells', 'files only tell')} Claude something`,
  scripts:
    'You trust these commands as they are written here, not the scripts that they name: those can change without a question.',
  cannotLeaveOut:
    'Git includes files here that cannot be left out, so Claude cannot be started without these settings.',
  trust: 'Trust this folder and start',
  without: 'Start without these settings',
}

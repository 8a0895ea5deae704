import { count } from '@/i18n'
import { list } from './lists'

// The words of projects: their page in the admin area, and what a card says of
// their rules.
export const words = {
  card: {
    nobody: (project: string) => `The rules of ${project} let nobody approve this. It can only be denied.`,
    only: (names: string[], project: string) => `Only ${list(names, 'and')} may approve this in ${project}.`,
    two: (project: string) => `In ${project} two people must approve this.`,
    first: (name: string) => `Approved by ${name}, one more needed.`,
    mine: 'Approved by you, one more needed.',
    withdraw: 'Take my approval back',
  },
  none: 'There are no projects yet. Until there is one, everybody on this server sees all sessions and works in them by their role.',
  noneYours: 'You belong to no project.',
  lead: 'A project is a name over folders. Sessions in them are seen by its members alone; who may start, answer and approve is said here.',
  add: 'New project',
  name: 'Name',
  folders: 'Folders, one on each line',
  foldersHint: 'Absolute paths on the server. Sessions that work in them belong to the project.',
  create: 'Make the project',
  open: (name: string) => `Open ${name}`,
  back: 'All projects',
  members: 'Members',
  membersHint: 'Nobody else sees the sessions of this project, but for admins of the server.',
  memberCount: (n: number) => count(n, 'member', 'members'),
  ruleCount: (n: number) => count(n, 'rule', 'rules'),
  noMembers: 'Nobody belongs to it yet.',
  person: 'Person',
  role: 'Role',
  roles: {
    viewer: 'viewer: sees',
    member: 'member: also runs and answers',
    admin: 'admin: also manages members and rules',
  },
  roleOf: (name: string) => `Role of ${name}`,
  addMember: 'Add',
  remove: 'Remove',
  removeOf: (name: string) => `Remove ${name}`,
  rights: 'Rights',
  start: 'Who may start sessions',
  answer: 'Who may answer',
  bypass: 'Who may run sessions that ask nobody (bypassPermissions)',
  bypassHint: 'What Claude does there is approved by nobody. Nobody has this right unless they are named here.',
  whom: { member: 'every member', admin: 'admins of the project', people: 'only these people' },
  nobody: 'nobody',
  rules: 'Rules for approvals',
  rulesHint:
    'The first rule that fits decides. Without one, whoever may answer may approve. Rules never approve anything by themselves.',
  noRules: 'No rules: whoever may answer may approve.',
  tool: 'Tool',
  toolHint: 'Bash, Edit, Write, mcp__server__tool; * stands for any text',
  pattern: 'Command or path',
  patternHint: 'empty: all; git push*, deploy/*',
  effect: 'Who approves',
  effects: { allow: 'one person', two_people: 'two people', deny: 'nobody' },
  by: (names: string[]) => `only ${list(names, 'and')}`,
  people: 'Only these people (none: whoever may answer)',
  addRule: 'Add the rule',
  up: 'Up',
  upOf: (n: number) => `Move rule ${n} up`,
  removeRule: (n: number) => `Remove rule ${n}`,
  ruleIs: (tool: string, pattern: string, effect: string) => `${tool}${pattern ? ` “${pattern}”` : ''}: ${effect}`,
  asking: 'Questions over MCP',
  askTimeout: 'How long a question of an agent waits for a person',
  askingHint:
    'For ask_user and the like. Claude’s own questions and approvals have no deadline. What the settings file of the server says of a folder holds there.',
  waits: (seconds: number) =>
    seconds === 0
      ? 'As the server has it'
      : seconds < 0
        ? 'For ever'
        : seconds < 60
          ? `${seconds} seconds`
          : count(seconds / 60, 'minute', 'minutes'),
  limits: 'Limits',
  limitsHint:
    'Nothing starts above a limit, and above that of costs no turn begins; what runs goes on. A day begins at 00:00 UTC. Empty: no limit.',
  use: (sessions: string, memory: string, cost: string) =>
    `Now ${sessions} with ${memory}; today they have cost ${cost}.`,
  sessionCount: (n: number) => count(n, 'session runs', 'sessions run'),
  all: 'All sessions together',
  each: 'The sessions of each person',
  most: 'Sessions at once',
  memory: 'Memory in MB',
  cost: 'US dollars a day',
  limitOf: (whose: string, what: string) => `${whose}: ${what}`,
  taken: {
    label: 'Limits and what is used of them',
    mine: 'Your sessions',
    all: (project: string) => `All sessions of ${project}`,
    mineIn: (project: string) => `Your sessions in ${project}`,
    sessions: (n: number, most: number) => `${n} of ${most} at once`,
    memory: (n: string, most: string) => `${n} of ${most}`,
    cost: (spent: string, most: string) => `${spent} of ${most} today (UTC)`,
    none: 'Nothing limits your sessions.',
  },
  settings: 'Name and folders',
  save: 'Save',
  saved: 'Saved. It holds at once.',
  delete: 'Delete the project',
  deleteHint: 'Its sessions stay, and everybody on the server sees them then.',
  reallyDelete: (name: string) => `Yes, delete ${name}`,
}

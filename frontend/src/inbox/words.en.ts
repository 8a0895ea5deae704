import { count } from '@/i18n'

export const words = {
  waiting: (n: number) => `${count(n, 'request needs', 'requests need')} your attention`,
  tabs: 'Main navigation',
  tabNew: 'New',
  tabYou: 'You',
  list: 'Pending requests',
  region: 'Selected request',
  order: 'Oldest first',
  empty: 'You’re all caught up',
  emptyHint: 'Requests from every session appear here.',
  toPhone: 'Get requests on your phone',
  now: 'Right now',
  noMatch: 'No pending requests match these filters.',
  clearFilters: 'Clear filters',
  loading: 'Loading requests…',
  slow: 'This is taking longer than usual. The server hasn’t sent the requests yet.',
  offline: 'No connection. These requests may be out of date. Your answers are sent when you reconnect.',
  choose: 'Select a request from the list.',
  filters: 'Filters',
  tool: 'Tool',
  project: 'Folder',
  risk: 'Risk',
  any: 'Any',
  question: 'Question',
  risks: { low: 'Low', medium: 'Medium or unknown', high: 'High' },
  highRisk: 'High risk',
  closed: 'No longer open',
  hints: { next: 'Move', select: 'Select', approve: 'Approve', deny: 'Deny', snooze: 'Snooze' },
  snoozed: (minutes: number) => `snoozed, ${minutes} min left`,
  select: (what: string) => `Select: ${what}`,
  selectShort: 'Select',
  selectLow: 'Select low-risk',
  selected: (n: number) => `${n} selected`,
  done: 'Done',
  grouped: 'Grouped',
  bulk: (n: number) => `${count(n, 'request', 'requests')} selected`,
  bulkEmpty: 'No requests selected.',
  group: (tool: string, n: number) =>
    tool === 'WebFetch'
      ? count(n, 'web page', 'web pages')
      : tool === 'Bash'
        ? count(n, 'command', 'commands')
        : ['Edit', 'MultiEdit', 'Write', 'NotebookEdit'].includes(tool)
          ? count(n, 'edit', 'edits')
          : `${tool}: ${count(n, 'request', 'requests')}`,
  context: 'Recent activity',
  before: 'Before this',
  showSession: 'Show session',
  more: 'More',
  openSession: 'Open session',
  waitedToday: (span: string) => `Claude waited ${span} for you today`,
  back: 'Back to inbox',
  next: 'Next request',
  handOff: 'Open on phone',
  textKept: 'Your text is in the session’s message field.',
  fate: {
    closed: 'This request is no longer open.',
    loading: 'Loading request…',
  },
}

import { count } from '@/i18n'

// The words of what is loaded beside the first screen.
export const words = {
  search: {
    label: 'Search in this transcript',
    at: (i: number, n: number) => `${i} of ${n}`,
    none: 'Nothing found',
    earlier: 'Earlier match',
    later: 'Later match',
    close: 'Close the search',
  },
  plain: {
    open: 'Open as a plain page',
    page: (i: number, n: number) => `Page ${i} of ${n}`,
    pages: 'Pages',
    earlier: 'Earlier',
    later: 'Later',
    back: 'Back to the session',
    kind: {
      user: 'Message', text: 'Claude', thinking: 'Thinking', tool_call: 'Tool call', todo: 'To do', plan: 'Plan', subagent: 'Subagent',
      note: 'Note', resolved: 'Request', result: 'End of turn', agent: 'Subagent',
    },
  },
  rename: { open: 'Rename', title: 'Rename this session', label: 'Title', save: 'Save' },
  fork: 'Fork',
  archive: 'Archive',
  unarchive: 'Take out of the archive',
  archiveEmpty: 'Nothing is in the archive.',
  found: {
    results: 'Sessions found',
    count: (n: number) => count(n, 'session', 'sessions'),
    more: 'Show more',
  },
  queueLabel: 'Messages that wait',
  queueRemove: 'Remove',
  queueRemoveNamed: (text: string) => `Remove: ${text.slice(0, 60)}`,
  queueEdit: 'Edit',
  todo: 'To do',
  tool: {
    copyCommand: 'Copy command',
    result: 'Result',
    copyResult: 'Copy result',
    moreLines: (n: number) => `Show ${count(n, 'more line', 'more lines')}`,
    inputTooLarge: (size: string) => `The input is too large to be shown here (${size}).`,
    cut: (size: string) => `Only the beginning is shown; the whole result has ${size}.`,
  },
}

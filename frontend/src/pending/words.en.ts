import { count } from '@/i18n'

// The words of the cards that are loaded beside the first screen: they would only
// make that larger.

const range = (least: number | undefined, most: number | undefined, unit = ''): string => {
  const of = unit && ` ${unit}`
  if (least !== undefined && most !== undefined) return least === most ? `${least}${of}` : `${least} to ${most}${of}`
  if (least !== undefined) return `at least ${least}${of}`
  return most === undefined ? '' : `at most ${most}${of}`
}

/** The words of the bounds of a question, as far as they are needed. */
interface Bounds {
  minimum?: number
  maximum?: number
  min_length?: number
  max_length?: number
  min_items?: number
  max_items?: number
}

export const words = {
  plan: {
    approveAsk: 'Approve, ask before edits',
    approveEdits: 'Approve, auto-accept edits',
    keepPlanning: 'Keep planning',
    keepPlanningDefault: 'Keep planning. Do not start yet.',
    feedback: 'What should be different? (optional)',
    feedbackExample: 'For example: leave the database alone',
  },

  templates: {
    title: 'Said before',
    none: 'Nothing was said before that could be said again. Settings has templates of your own.',
    change: 'Change',
    done: 'Done',
    textOf: (text: string) => `Text: ${text}`,
    remove: (text: string) => `Remove: ${text}`,
  },
  merge: {
    both: 'On another device you wrote something else:',
    theirs: 'Use that',
    mine: 'Keep what is here',
  },

  questionsForm: 'Questions',
  numberOf: (i: number, n: number) => `${i} of ${n}`,
  progress: (done: number, all: number) => `${done} of ${all} answered`,
  required: '(required)',
  optional: '(optional)',
  chooseAny: 'Choose any number',
  choose: (b: Bounds) => `Choose ${range(b.min_items, b.max_items)}`,
  format: (format: string | undefined, b: Bounds) => {
    const name =
      {
        number: 'A number',
        integer: 'A whole number',
        email: 'An e-mail address',
        uri: 'An address such as https://…',
        date: 'A date',
        'date-time': 'A date and time such as 2026-01-31T14:00:00Z',
      }[format ?? ''] ?? ''
    const between = range(b.minimum, b.maximum)
    const numbers =
      between && (b.minimum !== undefined && b.maximum !== undefined ? ` from ${between}` : `, ${between}`)
    const length = range(b.min_length, b.max_length, 'characters')
    return name + numbers + (name && length ? ', ' : '') + length
  },
  clear: 'Clear',
  clearNamed: (question: string) => `Clear: ${question}`,
  previewOf: (label: string) => `Preview of ${label}`,
  fault: {
    missing: () => 'This needs an answer.',
    other: () => 'Write your answer, or choose an option.',
    number: () => 'This must be a number, such as 12 or 1.5.',
    integer: () => 'This must be a whole number.',
    email: () => 'This must be an e-mail address.',
    uri: () => 'This must be an address, such as https://example.org.',
    date: () => 'This must be a date, such as 2026-01-31.',
    'date-time': () => 'This must be a date and time, such as 2026-01-31T14:00:00Z.',
    low: (b: Bounds) => `This must be at least ${b.minimum}.`,
    high: (b: Bounds) => `This must be at most ${b.maximum}.`,
    short: (b: Bounds) => `This must have at least ${count(b.min_length ?? 0, 'character', 'characters')}.`,
    long: (b: Bounds) => `This must have at most ${count(b.max_length ?? 0, 'character', 'characters')}.`,
    few: (b: Bounds) => `Choose at least ${b.min_items}.`,
    many: (b: Bounds) => `Choose at most ${b.max_items}.`,
  },
  other: 'Other',
  otherAnswer: (question: string) => `Other: ${question}`,
  otherExample: 'Your own answer',
  missing: (n: number, all: number) =>
    all === 1 ? 'Needs an answer' : n === 1 ? 'Answer 1 more question' : `Answer ${n} more questions`,
  submit: 'Submit answers',
  decline: 'Decline',
  declineReason: (who: string) => `Message for ${who === 'Claude' ? who : who.replace(/^T/, 't')} (optional)`,
  declineServer: (name: string) => `Decline? ${name} is told that you declined, and nothing else.`,
  toServer: (name: string) => `What you answer goes to the MCP server “${name}”.`,
  visit: {
    leadsTo: 'The address leads to',
    open: 'Open the page',
    done: 'Done',
    cannot: 'Only http and https addresses can be opened from here.',
    hint: 'Nothing is opened until you press the button. Press Done when you have finished there.',
  },
  declineExample: 'For example: decide yourself',
  unreadable: 'These questions cannot be shown as a form, so they can only be declined.',
  confirm: { yes: 'Yes', no: 'No' },

  risk: {
    level: { low: 'Nothing risky was found in it.', medium: 'Look closely', high: 'High risk' },
    unread: 'Not all of it could be read by machine. Read it yourself, to the end.',
    more: (n: number) => `and ${count(n, 'more place', 'more places')}`,
    steps: (n: number) => `${n} steps`,
    inFolder: (dir: string) => `in ${dir}`,
    somewhere: 'in a folder that is computed',
    kind: {
      delete: 'removes files.',
      delete_tree: 'removes folders with all that is in them.',
      privilege: 'runs as another user, with other rights.',
      download_run: 'runs what comes from the network, unseen.',
      decode_run: 'runs what was decoded, unseen.',
      pipe_run: 'runs what another command prints, unseen.',
      computed: 'is computed when it runs, so it cannot be seen here.',
      evaluated: 'runs a text as a command.',
      substitution: 'becomes part of the command with what it prints.',
      inline_code: 'runs code that stands in the command.',
      launcher: 'runs another program that it names.',
      script: 'runs a file that is not shown here.',
      unknown: 'is a program that is not known here.',
      background: 'goes on after the call has ended.',
      git_force: 'replaces or removes what is on the other side.',
      git_discard: 'throws away work or changes history.',
      git_push: 'sends work to another machine.',
      permissions: 'changes who may do what with files.',
      disk: 'writes to disks or over raw data.',
      kill: 'ends processes.',
      system: 'changes this machine.',
      persist: 'arranges that something runs later, without a question.',
      environment: 'is a variable that decides what other programs run.',
      redefine: 'gives a command or a setting another meaning.',
      write_outside: 'reaches outside the folder of the session.',
      write_sensitive: 'is a file that others trust, or that runs by itself.',
      read_secret: 'is or prints what looks like a secret.',
      read_outside: 'reads outside the folder of the session.',
      unproven: 'is not known to only read files.',
      overwrite: 'replaces what is there.',
      network: 'talks to another machine.',
      upload: 'sends data to another machine.',
      install: 'installs or fetches code of others, which may run at once.',
      remote: 'changes something on another machine or service.',
      hidden: 'cannot be seen, or only looks like what it seems.',
      unreadable: 'could not be read by machine.',
      wildcard: 'stands for any command.',
      whole_tool: 'is every use of the tool.',
      any_arguments: 'leaves the rest open.',
    },
  },
  file: {
    state: {
      new: 'New file',
      changes: 'Compared with the file as it is now',
      same: 'Nothing would be different from the file as it is.',
      no_file: 'There is no such file. This will fail.',
      outside: 'The file lies outside the folders shown here, or has another name that may, so it is not compared.',
      other: 'This is a folder or a device, not a file.',
      large: 'The file is too large to be compared here.',
      denied: 'This server may not read the file.',
      binary: 'The file is not text, so it is not compared.',
    },
    problem: (problem: 'not_found' | 'many' | 'same' | 'empty' | 'no_cell', found: number, edit: number) =>
      ({
        not_found: 'Text not found in the file as it is now',
        many: `Text found ${found} times, but it must be there once`,
        same: 'The new text is the same as the old one',
        empty: 'The text to replace is empty, but the file is not',
        no_cell: 'There is no such cell',
      })[problem] + (edit > 1 ? ` (edit ${edit}). This will fail.` : '. This will fail.'),
    drifted: 'The file was changed after Claude read it.',
    noNewline: 'The last line has no end, as before.',
    newlineGone: 'The last line will have no end.',
    cell: {
      replace: (id: string) => `replaces cell ${id}`,
      insert: (id: string) => (id ? `inserts a cell after ${id}` : 'inserts a cell at the top'),
      delete: (id: string) => `deletes cell ${id}`,
    },
    changedNow: 'The file on disk was changed just now. Look again before you approve.',
  },
  ends: {
    of: (ends: 'lf' | 'crlf' | 'mixed'): string => `${{ lf: 'LF', crlf: 'CRLF', mixed: 'Mixed' }[ends]} line ends`,
    kept: (ends: 'lf' | 'crlf' | 'mixed'): string => `${ends.toUpperCase()} line ends kept`,
    change: (from: 'lf' | 'crlf' | 'mixed', to: 'lf' | 'crlf' | 'mixed'): string =>
      `Line ends change from ${from === 'mixed' ? from : from.toUpperCase()} to ${to === 'mixed' ? to : to.toUpperCase()}`,
    only: 'Nothing but the line ends would be different.',
  },
  unchanged: (n: number): string => count(n, 'unchanged line', 'unchanged lines'),
  coarse: 'Too many changes to compare line by line. Showing the old and the new text.',
  coarseWords: 'Too many changes to compare word by word. Showing the old and the new text.',
  demands: {
    server: 'Tool of the MCP server',
    from: (source: string): string =>
      ({
        sdk: 'that sayso runs',
        plugin: 'from a plugin',
        user: 'from your settings',
        project: 'from the settings of the project',
        local: 'from your settings for the project',
        dynamic: 'from the start of the session',
        managed: 'from the settings of the administrator',
      })[source] ?? (source ? `from ${source}` : ''),
    rule: 'Asked because of the rule',
    source: (source: string): string =>
      ({
        userSettings: 'in your settings',
        projectSettings: 'in the settings of the project',
        localSettings: 'in your settings for the project',
        policySettings: 'in the settings of the administrator',
        flagSettings: 'from the start of the session',
        cliArg: 'from the start of the session',
        session: 'of this session',
      })[source] ?? (source ? `in ${source}` : ''),
    check: 'A safety check of Claude Code demands that a person approves this.',
    no: 'Claude Code suggests to deny this unless you are sure.',
    once: 'This can be approved once only. Claude Code allows no rule for it.',
  },
  earlierApproved: 'What was approved then',
  notShown: { title: 'Not shown above:', inLine: 'Not shown:', line: (n: number): string => `Line ${n}` },
  moreFields: 'Other fields',
  plannedText: 'Text of the plan',
  wrap: 'Wrap lines',
  after: {
    approved: 'Approved',
    edited: 'Approved, edited',
    denied: 'Denied',
    answered: 'Answered',
    next: 'Next request',
  },
  undo: {
    press: 'Undo',
    label: 'Take back',
    mine: (decision: 'allow' | 'deny'): string =>
      decision === 'deny' ? 'Denied. It takes effect in a moment.' : 'Approved. It takes effect in a moment.',
    theirs: (by: string, decision: 'allow' | 'deny') =>
      `${by} ${decision === 'deny' ? 'denied' : 'approved'} this. It takes effect in a moment.`,
    said: (decision: 'allow' | 'deny', n: number): string =>
      n > 1 ? `${n} decided.` : decision === 'deny' ? 'Denied.' : 'Approved.',
    left: (seconds: number) => `${seconds} s`,
    back: 'Taken back. It can be decided again.',
    overruled: (by: string) => `${by} denied this. Your approval was not used.`,
    dropped: (by: string, why: string) => `What ${by} decided did not take effect. ${why}`,
  },
  rule: {
    form: {
      exact: 'Exactly this:',
      prefix: 'Everything that begins with',
      pattern: 'Everything that fits',
      domain: 'Every page of',
      tool: 'Every use of',
      server: 'Every tool of the MCP server',
    },
    level: { low: '', medium: 'Wider than it looks:', high: 'Dangerous as a rule:' },
    wouldAllow: 'Would also allow:',
    added: 'Claude does not ask again for',
    undo: 'Undo',
    undone: 'Taken back. Claude asks again.',
    notUndone: 'The rule could not be taken back.',
  },
  why: {
    title: 'Why am I asked?',
    mode: (mode: string) => `The mode of this session is “${mode}”.`,
    reason: 'Claude Code says:',
    path: 'It is about the path',
    outside: ', outside the folder of this session.',
    behavior: { ask: 'makes Claude Code ask each time. It stands in', deny: 'forbids this. It stands in' },
    partly: 'allows this, or a part of it. It stands in',
    source: {
      managed: 'the settings of the administrator',
      user: 'your settings (~/.claude)',
      project: 'the settings of the project',
      local: 'your settings for the project',
    },
    none: 'No rule in the settings speaks of this.',
    uncovered: 'No rule covers:',
    strict: 'As long as that rule is there, no other rule can stop the question.',
    smallest: (n: number, stops: boolean): string =>
      `${n === 1 ? 'The smallest rule that' : 'The smallest rules that'} ${stops ? 'would stop it' : n === 1 ? 'covers it' : 'cover it'}:`,
  },
  edit: { difference: 'What you changed', add: 'added: ', del: 'removed: ' },
  red: {
    why: 'This can do much harm, so it takes more than one press.',
    type: (word: string, key: string) =>
      key
        ? `Type “${word}”, or hold the button or the key ${key} for a moment.`
        : `Type “${word}”, or hold the button for a moment.`,
    hold: 'Hold to approve',
    approve: 'Approve it',
    back: 'Back',
  },
  editor: {
    hint: 'Tab indents. Escape leaves the text, and Tab then goes on.',
    hidden: (name: string) => `hidden character ${name}`,
    phrases: {
      Find: 'Find',
      Replace: 'Replace',
      next: 'Next',
      previous: 'Previous',
      all: 'All',
      'match case': 'Match case',
      'by word': 'Whole words',
      regexp: 'Pattern',
      replace: 'Replace',
      'replace all': 'Replace all',
      close: 'Close',
      'current match': 'current match',
      'on line': 'on line',
      'replaced match on line $': 'Replaced on line $',
      'replaced $ matches': '$ replaced',
      'Go to line': 'Go to line',
      go: 'Go',
      'Selection deleted': 'Selection deleted',
    } as Record<string, string>,
  },
  fetchFrom: 'Fetches from',
  copyJSON: 'Copy as JSON',
  contents: 'Contents of the plan',
  keyHint: {
    there: (key: string) => `${key} goes to the request.`,
    back: (key: string) => `${key} comes back here.`,
  },
}

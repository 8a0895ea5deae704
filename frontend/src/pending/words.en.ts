import { count } from '@/i18n'

// The texts of the cards load after the first screen, which they would only
// make larger.

const range = (least: number | undefined, most: number | undefined, unit = ''): string => {
  const of = unit && ` ${unit}`
  if (least !== undefined && most !== undefined) return least === most ? `${least}${of}` : `${least} to ${most}${of}`
  if (least !== undefined) return `at least ${least}${of}`
  return most === undefined ? '' : `up to ${most}${of}`
}

/** The limits of a question that its texts name. */
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
    feedback: 'What should change? (optional)',
    feedbackExample: 'For example: leave the database alone',
  },

  templates: {
    title: 'Saved replies',
    none: 'No saved replies yet. Add your own in Settings.',
    change: 'Edit',
    done: 'Done',
    textOf: (text: string) => `Text: ${text}`,
    remove: (text: string) => `Remove: ${text}`,
  },
  merge: {
    both: 'You have a different draft on another device:',
    theirs: 'Use that draft',
    mine: 'Keep this draft',
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
        email: 'An email address',
        uri: 'A URL such as https://…',
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
    missing: () => 'Answer this question.',
    other: () => 'Enter your answer or choose an option.',
    number: () => 'Enter a number, such as 12 or 1.5.',
    integer: () => 'Enter a whole number.',
    email: () => 'Enter an email address.',
    uri: () => 'Enter a URL, such as https://example.org.',
    date: () => 'Enter a date, such as 2026-01-31.',
    'date-time': () => 'Enter a date and time, such as 2026-01-31T14:00:00Z.',
    low: (b: Bounds) => `Enter ${b.minimum} or more.`,
    high: (b: Bounds) => `Enter ${b.maximum} or less.`,
    short: (b: Bounds) => `Enter at least ${count(b.min_length ?? 0, 'character', 'characters')}.`,
    long: (b: Bounds) => `Enter no more than ${count(b.max_length ?? 0, 'character', 'characters')}.`,
    few: (b: Bounds) => `Choose at least ${b.min_items}.`,
    many: (b: Bounds) => `Choose no more than ${b.max_items}.`,
  },
  other: 'Other',
  otherAnswer: (question: string) => `Other: ${question}`,
  otherExample: 'Your own answer',
  missing: (n: number, all: number) =>
    all === 1 ? 'Needs an answer' : n === 1 ? 'Answer 1 more question' : `Answer ${n} more questions`,
  submit: 'Submit answers',
  decline: 'Decline',
  declineReason: (who: string) => `Message for ${who === 'Claude' ? who : who.replace(/^T/, 't')} (optional)`,
  declineServer: (name: string) => `Decline? ${name} sees only that you declined.`,
  toServer: (name: string) => `Your answer goes to the MCP server “${name}”.`,
  visit: {
    leadsTo: 'The link opens',
    open: 'Open the page',
    done: 'Done',
    cannot: 'Only http and https links can be opened here.',
    hint: 'Nothing opens until you press the button. Press Done when you have finished on the page.',
  },
  declineExample: 'For example: use your own judgment',
  unreadable: 'These questions can’t be shown as a form. You can only decline them.',
  confirm: { yes: 'Yes', no: 'No' },

  risk: {
    level: { low: 'No risks detected', medium: 'Medium risk', high: 'High risk' },
    unread: 'sayso could not parse all of this. Read it to the end before you approve.',
    more: (n: number) => `and ${n} more`,
    steps: (n: number) => `${n} steps`,
    inFolder: (dir: string) => `in ${dir}`,
    somewhere: 'in a folder computed at run time',
    kind: {
      delete: 'deletes files.',
      delete_tree: 'deletes folders and everything in them.',
      privilege: 'runs as another user with different permissions.',
      download_run: 'runs code downloaded from the network.',
      decode_run: 'runs decoded code that is not shown here.',
      pipe_run: 'runs the output of another command.',
      computed: 'is computed at run time and can’t be shown here.',
      evaluated: 'runs text as a command.',
      substitution: 'inserts its output into the command.',
      inline_code: 'runs code written in the command.',
      launcher: 'runs another program that it names.',
      script: 'runs a file that is not shown here.',
      unknown: 'is a program sayso doesn’t know.',
      background: 'keeps running after the call ends.',
      git_force: 'overwrites or deletes data on the remote.',
      git_discard: 'discards work or rewrites history.',
      git_push: 'pushes work to another machine.',
      permissions: 'changes file permissions.',
      disk: 'writes directly to a disk or device.',
      kill: 'stops processes.',
      system: 'changes this machine.',
      persist: 'schedules code to run later without asking.',
      environment: 'is a variable that controls what other programs run.',
      redefine: 'changes the meaning of a command or setting.',
      write_outside: 'accesses files outside this session’s folder.',
      write_sensitive: 'is a file that other programs trust or run automatically.',
      read_secret: 'is or prints a likely secret.',
      read_outside: 'reads outside this session’s folder.',
      unproven: 'may do more than read files.',
      overwrite: 'overwrites existing content.',
      network: 'connects to another machine.',
      upload: 'sends data to another machine.',
      install: 'installs or downloads third-party code, which may run immediately.',
      remote: 'changes another machine or service.',
      hidden: 'is invisible or looks like a different character.',
      unreadable: 'could not be parsed.',
      wildcard: 'matches any command.',
      whole_tool: 'covers every use of the tool.',
      any_arguments: 'allows any arguments.',
    },
  },
  file: {
    state: {
      new: 'New file',
      changes: 'Compared with the current file',
      same: 'No changes to the current file.',
      no_file: 'The file doesn’t exist. This will fail.',
      outside: 'The file may be outside the folders visible here, so no comparison is shown.',
      other: 'This is a folder or a device, not a file.',
      large: 'The file is too large to compare here.',
      denied: 'The server can’t read the file.',
      binary: 'The file isn’t text, so no comparison is shown.',
    },
    problem: (problem: 'not_found' | 'many' | 'same' | 'empty' | 'no_cell', found: number, edit: number) =>
      ({
        not_found: 'Text not found in the current file',
        many: `Text found ${found} times instead of once`,
        same: 'The new text is the same as the old text',
        empty: 'The text to replace is empty, but the file is not',
        no_cell: 'Cell not found',
      })[problem] + (edit > 1 ? ` (edit ${edit}). This will fail.` : '. This will fail.'),
    drifted: 'The file changed after Claude read it.',
    noNewline: 'No newline at end of file (unchanged)',
    newlineGone: 'Removes the newline at end of file',
    cell: {
      replace: (id: string) => `replaces cell ${id}`,
      insert: (id: string) => (id ? `inserts a cell after ${id}` : 'inserts a cell at the top'),
      delete: (id: string) => `deletes cell ${id}`,
    },
    changedNow: 'The file on disk just changed. Review it again before you approve.',
  },
  ends: {
    of: (ends: 'lf' | 'crlf' | 'mixed'): string => `${{ lf: 'LF', crlf: 'CRLF', mixed: 'Mixed' }[ends]} line endings`,
    kept: (ends: 'lf' | 'crlf' | 'mixed'): string => `${ends.toUpperCase()} line endings (unchanged)`,
    change: (from: 'lf' | 'crlf' | 'mixed', to: 'lf' | 'crlf' | 'mixed'): string =>
      `Line endings change from ${from === 'mixed' ? from : from.toUpperCase()} to ${to === 'mixed' ? to : to.toUpperCase()}`,
    only: 'Only the line endings change.',
  },
  unchanged: (n: number): string => count(n, 'unchanged line', 'unchanged lines'),
  coarse: 'Too many changes to compare line by line. Showing the old and new text.',
  coarseWords: 'Too many changes to compare word by word. Showing the old and new text.',
  demands: {
    server: 'Tool from the MCP server',
    from: (source: string): string =>
      ({
        sdk: 'run by sayso',
        plugin: 'from a plugin',
        user: 'from your settings',
        project: 'from the project settings',
        local: 'from your local project settings',
        dynamic: 'from the session’s start options',
        managed: 'from managed settings',
      })[source] ?? (source ? `from ${source}` : ''),
    rule: 'Asked because of the rule',
    source: (source: string): string =>
      ({
        userSettings: 'in your settings',
        projectSettings: 'in the project settings',
        localSettings: 'in your local project settings',
        policySettings: 'in managed settings',
        flagSettings: 'in the session’s start options',
        cliArg: 'in the session’s start options',
        session: 'in this session',
      })[source] ?? (source ? `in ${source}` : ''),
    check: 'A Claude Code safety check requires a person to approve this.',
    no: 'Claude Code recommends denying this unless you are sure.',
    once: 'Approval applies only once. Claude Code doesn’t allow a rule for this.',
  },
  earlierApproved: 'Previously approved',
  notShown: { title: 'Not shown above:', inLine: 'Not shown:', line: (n: number): string => `Line ${n}` },
  moreFields: 'Other fields',
  plannedText: 'Plan text',
  wrap: 'Wrap lines',
  after: {
    approved: 'Approved',
    edited: 'Approved, edited',
    denied: 'Denied',
    answered: 'Answered',
    done: 'Done',
  },
  undo: {
    press: 'Undo',
    label: 'Undo window',
    mine: (decision: 'allow' | 'deny'): string =>
      decision === 'deny' ? 'Denied. Sending shortly.' : 'Approved. Sending shortly.',
    theirs: (by: string, decision: 'allow' | 'deny') =>
      `${by} ${decision === 'deny' ? 'denied' : 'approved'} this. Sending shortly.`,
    said: (decision: 'allow' | 'deny', n: number): string =>
      n > 1 ? `${n} requests answered.` : decision === 'deny' ? 'Denied.' : 'Approved.',
    left: (seconds: number) => `${seconds} s`,
    goes: (who: string, seconds: number): string => `Goes to ${who.replace(/^T/, 't')} in ${seconds} s`,
    back: 'Undone. The request is open again.',
    overruled: (by: string) => `${by} denied this. Your approval was not used.`,
    dropped: (by: string, why: string) => `The decision by ${by} was not used. ${why}`,
  },
  rule: {
    form: {
      exact: 'Exactly this:',
      prefix: 'Anything that starts with',
      pattern: 'Anything that matches',
      domain: 'Any page on',
      tool: 'Any use of',
      server: 'Any tool from the MCP server',
    },
    level: { low: '', medium: 'Broader than it looks:', high: 'Dangerous as a rule:' },
    wouldAllow: 'Would also allow:',
    added: 'Claude no longer asks for',
    undo: 'Undo',
    undone: 'Rule revoked. Claude asks again.',
    notUndone: 'Rule not revoked.',
  },
  why: {
    title: 'Why is Claude asking?',
    mode: (mode: string) => `This session’s permission mode is “${mode}”.`,
    reason: 'Reason from Claude Code:',
    path: 'Path:',
    outside: ', outside this session’s folder.',
    behavior: { ask: 'makes Claude Code ask every time. Defined in', deny: 'denies this. Defined in' },
    partly: 'allows all or part of this. Defined in',
    source: {
      managed: 'managed settings',
      user: 'your settings (~/.claude)',
      project: 'the project settings',
      local: 'your local project settings',
    },
    none: 'No rule in the settings applies to this.',
    uncovered: 'Not covered by a rule:',
    strict: 'While that rule exists, no other rule can prevent this request.',
    smallest: (n: number, stops: boolean): string =>
      `${n === 1 ? 'The narrowest rule that' : 'The narrowest rules that'} ${stops ? 'would prevent it' : n === 1 ? 'covers it' : 'cover it'}:`,
  },
  edit: { difference: 'Your changes', add: 'added: ', del: 'removed: ' },
  red: {
    why: 'This can cause serious damage.',
    type: (word: string, key: string) =>
      key ? `Type “${word}”, or hold the button or ${key}.` : `Type “${word}”, or hold the button.`,
    hold: 'Hold to approve',
    approve: 'Approve it',
    back: 'Cancel',
  },
  editor: {
    hint: 'Tab indents. To leave the editor, press Escape, then Tab.',
    hidden: (name: string) => `hidden character ${name}`,
    phrases: {
      Find: 'Find',
      Replace: 'Replace',
      next: 'Next',
      previous: 'Previous',
      all: 'All',
      'match case': 'Match case',
      'by word': 'Whole words',
      regexp: 'Regular expression',
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
  more: 'More actions',
  moreLines: (lines: number) => count(lines, 'more line', 'more lines'),
  scrollToEnd: (lines: number) => `Scroll to the end to approve (${count(lines, 'more line', 'more lines')})`,
  copyRequest: 'Copy',
  copyJSON: 'Copy as JSON',
  contents: 'Plan contents',
  keyHint: {
    there: (key: string) => `Press ${key} to go to the request.`,
    back: (key: string) => `Press ${key} to return here.`,
  },
}

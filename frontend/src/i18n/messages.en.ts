import { ago, clock, count, decimal, list } from './format'

// A word from outside may be that of something every object has.
export const own = (words: Record<string, string>, key: string): string | undefined =>
  Object.hasOwn(words, key) ? words[key] : undefined

const modes: Record<string, string> = {
  default: 'Ask before changes',
  acceptEdits: 'Accept edits',
  plan: 'Plan first',
  bypassPermissions: 'Ask nothing',
  dontAsk: 'Deny what is not allowed',
  auto: 'Automatic',
}

export const en = {
  /** A sentence of the server in the language of the app; code is that of a refusal. */
  said: (sentence: string, _code?: string): string => sentence,

  ui: {
    cancel: 'Cancel',
    back: 'Back',
    close: 'Close',
    dismiss: 'Dismiss',
    copyCode: 'Copy code',
    copied: 'Copied',
    notCopied: 'The browser did not allow copying.',
  },

  shell: {
    sessions: 'Sessions',
    newSession: 'New session',
    settings: 'Settings',
    theme: 'Theme',
    themes: { system: 'System', light: 'Light', dark: 'Dark' },
    signOut: 'Sign out',
    account: 'Account',
    waiting: (n: number) => `${n} waiting`,
    nothingWaits: 'Nothing is waiting for you.',
    someWait: (n: number) => (n === 1 ? 'One request waits for you.' : `${n} requests wait for you.`),
    choose: 'Choose a session, or start one.',
    review: 'Review',
  },

  account: {
    motto: 'Nothing runs without your say-so.',
    signingIn: 'Signing in…',
    how: 'For a one-time sign-in address, run this on the server:',
    otherwise: 'Sign in without a password',
    name: 'Name',
    password: 'Password',
    token: 'Sign-in address or token',
    use: 'Use it',
    signIn: 'Sign in',
    noStorage:
      'This browser stores nothing for this address, so reloading the page signs you out. To stay signed in, allow site data.',
    boundNow: 'Sign-ins are now tied to this address. Sign in again.',
    spent: 'This sign-in address was used already or has expired. Get a new one as shown below.',
  },

  environment: {
    label: 'What sessions run on',
    title: 'Sessions cannot run yet',
    details: 'Details',
    hide: 'Hide for now',
    noCLI:
      'Claude Code was not found on the server. Install it there, or start sayso with --claude and the path of the CLI.',
    notSignedIn:
      'Claude Code is not signed in on the server. Run claude there and sign in, or start sayso with ANTHROPIC_API_KEY set.',
    demo: 'Try the demo session',
    check: 'Check again',
  },

  connection: {
    connecting: 'Connecting…',
    reconnecting: 'Reconnecting…',
    offline: 'You are offline. What you answer is saved and goes out when the connection is back.',
    waiting: 'No connection to the server.',
    gone: (since: Date) => `The server has not been reachable since ${clock(since)}.`,
    again: (seconds: number) => `Trying again in ${seconds} s.`,
    retryNow: 'Retry now',
    updated: 'sayso was updated.',
    outdated: 'This page is too old for the server.',
    reload: 'Reload',
    unreachable: 'The server could not be reached. Nothing was changed.',
    signedOut: 'You are signed out. Sign in again.',
    notAllowed: 'You are not allowed to do this.',
    tooMany: 'Too many attempts. Wait a minute and try again.',
    refused: (status: number) => `The server refused this (${status}).`,
  },

  attention: {
    waiting: (n: number) => `${count(n, 'request waits', 'requests wait')} for you.`,
    approval: (session: string, what: string) => `Approval needed in ${session}: ${what}.`,
    question: (session: string) => `A question waits in ${session}.`,
  },

  session: {
    group: { waiting: 'Waiting for you', running: 'Running', your_turn: 'Your turn', idle: 'Idle', ended: 'Ended' },
    stateOf: { waiting: 'Waiting for you', running: 'Running', your_turn: 'Your turn', idle: 'Idle', ended: 'Ended' },
    unseen: (n: number) => `${n} new`,
    unseenWords: 'Blocks that came since you last looked here',
    review: 'Review',
    failed: 'Failed',
    untitled: 'Untitled session',
    demo: 'Demo',
    none: 'No sessions yet.',
    loading: 'Loading…',
    starting: 'Claude is starting…',
    kind: { agent: 'Agent', terminal: 'Terminal' },
    kindQuiet: 'Nothing open',
    kindWords: {
      agent: 'An agent outside sayso asks here. It can be answered, but takes no messages.',
      terminal:
        'A Claude in somebody’s terminal asks here. It can be answered here or there, and takes its messages there.',
    },
    lifecycle: {
      label: 'Progress of the session',
      what: (type: string) => {
        const [thing = '', , end = ''] = type.split(/(-)(?=[^-]*$)/)
        const name = thing.charAt(0).toUpperCase() + thing.slice(1).replaceAll('-', ' ')
        return ['started', 'completed'].includes(end) ? `${name} ${end}` : type.replaceAll('-', ' ')
      },
      phase: (name: string | undefined, number: string | undefined) =>
        [number && `Phase ${number}`, name].filter(Boolean).join(': '),
      step: (step: number, total: number | undefined) =>
        total === undefined ? `step ${step}` : `step ${step} of ${total}`,
    },
    nothingYet: 'Nothing has been said yet.',
    gone: 'This session is not there, or not yours to see.',
    backToList: 'Back to the sessions',
    andMore: (n: number) => ` · ${n} more`,
    alsoHere: (names: string[]) => `${list(names)} ${names.length === 1 ? 'is' : 'are'} here`,

    interrupt: 'Interrupt',
    resume: 'Resume',
    kill: 'Kill',
    killNamed: (title: string) => `Kill session ${title}`,
    killTitle: (title: string) => `Kill “${title}”?`,
    killWords: (open: number) =>
      (open > 0
        ? `${count(open, 'open request is', 'open requests are')} refused and the Claude process ends at once. `
        : 'The Claude process ends at once. ') + 'The transcript stays, and the session can be resumed.',

    newSession: 'New session',
    folder: 'Folder',
    folderExample: (path: string) => `For example ${path}`,
    recentFolders: 'Recent folders',
    prompt: 'What should Claude do?',
    promptExample: 'Describe the task',
    permissionMode: 'Permission mode',
    model: 'Model',
    defaultModel: 'Default model',
    start: 'Start session',
    mode: (mode: string) => own(modes, mode) ?? mode,
    modeWords: (mode: string) =>
      ({
        default: 'Claude asks before it runs commands or changes files.',
        acceptEdits: 'Claude edits files in the folder without asking, and asks before it runs commands.',
        plan: 'Claude reads and makes a plan, and changes nothing until you approve the plan.',
      })[mode] ?? '',

    composer: 'Message',
    messageLabel: 'Message to Claude',
    message: 'Message to Claude',
    messageQueue: 'Queue a message',
    messageResume: 'Message to Claude. Sending it resumes the session.',
    messageShort: 'Message',
    queueShort: 'Next message',
    viewerCannot: 'You can look at this session, but not write in it.',
    viewerShort: 'You can only look',
    attach: 'Attach files',
    send: 'Send',
    queue: 'Queue',
    queueMessage: 'Queue message',
    draftKept: 'Draft kept:',
    resumeAndSend: 'Resume and send',
    // Begins as the other two do, and holds what is shown.
    resumeAndSendNamed: 'Send: resume and send',
    resuming: 'Resuming Claude with it…',
    sendHint: 'Enter sends, Shift+Enter starts a new line',
    sending: 'Sending…',
    waitsForConnection: 'Waits for the connection',
    notSent: (why: string, back: boolean) =>
      ['Your message was not taken.', why, back ? 'It is back in the field.' : ''].filter(Boolean).join(' '),
    putBack: 'Put it back',
    queuedMessages: (n: number) => `${count(n, 'message waits', 'messages wait')} until Claude is done.`,
    queuedForResume: (n: number) => `${count(n, 'message waits', 'messages wait')} until this session is resumed.`,

    transcript: 'Transcript',
    copyBlock: 'Copy this block',
    more: 'More',
    archived: 'Archived',
    inTerminals: 'From terminals',
    inArchive: 'Archive',
    searchSessions: 'Search sessions',
    jump: 'Jump to the end',
    newItems: (n: number) => `${n} new`,
    you: 'You',
    thinking: 'Thinking',
    plan: 'Plan',
    preparing: (tool: string) => (tool ? `Preparing ${tool}…` : 'Working…'),
    steps: (n: number) => count(n, 'step', 'steps'),
    showEarlier: (n: number) => `Show ${count(n, 'earlier step', 'earlier steps')}`,
    todo: {
      title: 'To do ·',
      count: (done: number, all: number) => `${done} of ${all}`,
      completed: 'Done:',
      in_progress: 'In progress:',
      pending: 'To do:',
    },
    tool: {
      running: 'Running',
      done: 'Done',
      failed: 'Failed',
    },
    resolved: (it: { outcome: string; summary: string }) =>
      it.summary ||
      own(
        {
          answered: 'Answered',
          denied: 'Denied',
          withdrawn: 'Withdrawn',
          expired: 'Time ran out',
        },
        it.outcome,
      ) ||
      it.outcome,
    carriedOver: 'Carried over',
    edited: 'Edited',
    afterWaiting: (span: string) => `after ${span}`,
    carried: (by: string | null, mine: boolean) =>
      `${mine ? 'Your earlier answer' : by ? `${by}’s earlier answer` : 'The earlier answer'} was given again after Claude was resumed`,
    resolvedBy: (by: string | null, device: string | null, time: string) =>
      [by ? (device ? `${by} on ${device}` : by) : '', time].filter(Boolean).join(' · '),
    turnFailed: (subtype: string, text: string) =>
      text ||
      own(
        { error_during_execution: 'The turn was interrupted.', error_max_turns: 'The limit of turns was reached.' },
        subtype,
      ) ||
      `The turn ended with ${subtype}.`,
    tokens: (input: string, output: string) => `${input} tokens in, ${output} out`,
    cost: (usd: number) =>
      decimal(usd, usd < 0.1 ? 4 : 2, { style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' }),
  },

  pending: {
    asker: {
      claude: (home: string) => `Claude in ${home}`,
      server: (name: string) => `MCP server ${name} through Claude`,
      unnamed: 'without a name',
      itself: 'Claude',
      theAgent: 'The agent',
      theServer: 'The MCP server',
    },

    dock: 'Requests',
    waitingCount: (n: number) => (n === 1 ? 'One request waits for you' : `${n} requests wait for you`),
    review: 'Review',
    hide: 'Hide',
    details: 'Details of the request',
    waiting: (span: string) => `waiting ${span}`,
    closesIn: (span: string) => `closes in ${span}`,
    closesSoon: (span: string) => `A question closes in ${span}.`,
    moreTime: '+5 minutes',
    moreTimeHint: 'Wait five minutes longer for the answer',
    by: (agent: string) => `asked by ${agent}`,
    subagent: 'a subagent',
    answering: (names: string[]) => `${list(names)} ${names.length === 1 ? 'is' : 'are'} answering`,
    takeOver: 'Take over',
    orphaned:
      'Claude stopped before it got an answer. Nothing ran. You can still answer: your answer is kept and given when Claude is resumed.',
    earlier: {
      said: (by: string | null, what: 'question' | 'request', same: boolean) =>
        `Before Claude stopped, ${by ?? 'somebody'} answered ${same ? 'this' : 'a similar'} ${what}:`,
      again: 'Claude may have heard that and acted on it before it stopped. Nobody can tell, so you are asked again.',
      show: 'What was asked then',
      same: 'The same was asked then, in another form.',
      was: 'Then',
      now: 'Now',
    },

    title: {
      bash: 'Claude wants to run a command',
      write: 'Claude wants to write a file',
      edit: 'Claude wants to edit a file',
      plan: 'Claude has made a plan',
      fetch: 'Claude wants to fetch a web page',
      search: 'Claude wants to search the web',
      mcp: (tool: string, server: string) => `Claude wants to use ${server}: ${tool}`,
      other: (tool: string) => `Claude wants to use ${tool}`,
      questions: (n: number, who = 'Claude') => (n === 1 ? `${who} has a question` : `${who} has ${n} questions`),
      elicitation: 'An MCP server asks for something',
      visit: 'An MCP server wants you to open a page',
    },
    questions: (n: number) => count(n, 'question', 'questions'),
    planReady: 'Plan ready',

    approve: 'Approve',
    deny: 'Deny',
    denyAndInterrupt: 'Deny and interrupt',
    reason: 'Reason for Claude (optional)',
    reasonExample: 'For example: use pnpm, not npm',
    rawJSON: 'Raw JSON',
    scrollToEnd: (lines: number) => `Scroll to the end to approve (${count(lines, 'more line', 'more lines')})`,
    edit: {
      start: 'Edit',
      discard: 'Discard',
      discardEdit: 'Discard edit',
      byYou: 'Edited by you. Approve runs it as it stands here.',
      empty: 'The command is empty. Deny it if nothing should run.',
      object: 'The input must be a JSON object.',
      syntax: (message: string, line: number | null) =>
        `This is not valid JSON${line === null ? '' : `, line ${line}`}: ${message}`,
      label: (tool: string, field: string | null) =>
        field === null
          ? 'Input (JSON)'
          : ({
              command: 'Command',
              content: 'Content',
              new_string: 'Replace with',
            }[field] ?? `${field} of ${tool}`),
    },

    dontAsk: 'Don’t ask again for this…',
    whatToAllow: 'What to allow',
    onlyOnce: 'Only this once',
    allowRules: 'Always allow',
    allowFolders: 'Let Claude work in',
    switchMode: (mode: string) => `Switch the mode of this session to “${mode}”`,
    scope: 'Holds for',
    scopes: {
      session: 'this session',
      localSettings: 'this project, for me',
      projectSettings: 'this project, for everyone',
      userSettings: 'all my projects',
    },
    alsoAllows: 'Approving also adds the rule chosen above.',

    queued: 'Offline. Your answer is saved and goes out when the connection is back.',
    unconfirmed: 'No confirmation yet. Still trying.',
    taken: (who: string) => `Sent. Waiting for ${who === 'Claude' ? who : who.replace(/^T/, 't')} to take it.`,
    resuming: 'Resuming Claude with your answer…',
    keptAnswer: 'Your answer is kept. Claude gets it when this session is resumed.',
    refused: (why: string) => `${why || 'The server did not take this answer.'} Nothing was sent.`,
    viewerOnly: 'You can look at this request, but not answer it.',

    ended: {
      label: (title: string) => `No longer open: ${title}`,
      answered: (title: string) => `Answered: ${title}`,
      elsewhere: (by: string | null, device: string | null, seconds: number, summary: string) =>
        `Answered${by ? ` by ${by}` : ''}${device ? ` on ${device}` : ''} ${seconds < 10 ? 'just now' : ago(seconds)}: ${/[.!?]$/.test(summary) ? summary : summary + '.'}`,
      stale: 'This request is no longer open. Nothing was sent.',
      withdrawn: (who: string) => `${who} withdrew this request.`,
      orphan: 'This was answered elsewhere, or Claude needs no answer any longer.',
      expired: (at: Date, who: string) => `Time ran out at ${clock(at)}. ${who} went on without an answer.`,
      died: (why: string) => `The Claude process stopped before your answer. Nothing ran.${why ? ` ${why}` : ''}`,
      keep: 'Keep my text',
      show: 'Show it',
      yourText: 'What you had written is kept:',
      send: 'Send as message',
      copy: 'Copy',
      copied: 'Copied',
    },

    hiddenCharacter: (name: string) => `hidden character ${name}`,
    hiddenCharacters: (n: number) =>
      `${count(n, 'hidden character is', 'hidden characters are')} marked below. The text may not be what it looks like.`,
    addedLine: 'added line: ',
    removedLine: 'removed line: ',
    editOf: (i: number, n: number) => `Edit ${i} of ${n}`,
    everyPlace: 'Replaced everywhere in the file.',
    outside: 'outside the folder of this session',
    size: (lines: number, size: string) => `${count(lines, 'line', 'lines')} · ${size}`,
    emptyFile: 'The file will be empty.',
    replaces: 'A file that is there already is replaced.',
    timeout: (span: string) => `stops after ${span}`,
    background: 'runs in the background',
    noSandbox: 'outside the sandbox',
    inFolder: 'in',
  },
}

export type Messages = typeof en

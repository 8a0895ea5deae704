import type { Reason } from '@/wire/messages.gen'
import { clock, count, decimal, list } from './format'

// A server may send a key that every object has, such as constructor.
export const own = (words: Record<string, string>, key: string): string | undefined =>
  Object.hasOwn(words, key) ? words[key] : undefined

const modes: Record<string, string> = {
  default: 'Ask before changes',
  acceptEdits: 'Accept edits',
  plan: 'Plan first',
  bypassPermissions: 'Bypass approvals',
  dontAsk: 'Deny unless allowed',
  auto: 'Automatic',
}

export const en = {
  /** Translates a sentence of the server by its reason; returns it unchanged without one. */
  translateReason: (sentence: string, _reason?: Partial<Reason> | null): string => sentence,
  /** The device of a sign-in, such as Firefox on Linux. */
  device: (name: string): string => name,

  ui: {
    cancel: 'Cancel',
    back: 'Back',
    close: 'Close',
    dismiss: 'Dismiss',
    copyCode: 'Copy code',
    openIn: (editor: string) => `Open in ${editor}`,
    copied: 'Copied',
    notCopied: 'Copy failed. The browser blocked clipboard access.',
  },

  shell: {
    sessions: 'Sessions',
    newSession: 'New session',
    sidebar: 'Sidebar',
    phone: 'Phone',
    settings: 'Settings',
    themes: { system: 'System', light: 'Light', dark: 'Dark' },
    signOut: 'Sign out',
    account: 'Account',
    inbox: 'Inbox',
    admin: 'Admin',
    caughtUp: 'You’re all caught up.',
    pendingCount: (n: number) => `${count(n, 'request needs', 'requests need')} your attention.`,
    selectSession: 'Select a session or start a new one.',
    review: 'Review',
  },

  connection: {
    connecting: 'Connecting…',
    reconnecting: 'Reconnecting…',
    offline: 'You’re offline. Your answers are saved and sent when you reconnect.',
    waiting: 'No connection to the server.',
    unreachableSince: (since: Date) => `The server has been unreachable since ${clock(since)}.`,
    retryingIn: (seconds: number) => `Retrying in ${seconds} s.`,
    retryNow: 'Retry now',
    updated: 'sayso was updated.',
    outdated: 'This page is out of date.',
    reload: 'Reload',
    unreachable: 'The server could not be reached. Nothing was changed.',
    signedOut: 'You’re signed out. Sign in again.',
    notAllowed: 'You don’t have permission to do this.',
    tooMany: 'Too many attempts. Wait a minute and try again.',
    refused: (status: number) => `The server rejected this request (${status}).`,
  },

  attention: {
    waiting: (n: number) => `${count(n, 'request needs', 'requests need')} your attention.`,
    approval: (session: string, what: string) => `Approval needed in ${session}: ${what}.`,
    question: (session: string) => `New question in ${session}.`,
  },

  session: {
    stateOf: { waiting: 'Needs you', running: 'Running', your_turn: 'Your turn', idle: 'Idle', ended: 'Ended' },
    unseen: (n: number) => `${n} new`,
    failed: 'Failed',
    untitled: 'Untitled session',
    demo: 'Demo',
    loading: 'Loading…',
    starting: 'Claude is starting…',
    kind: { agent: 'Agent', terminal: 'Terminal' },
    noOpenRequests: 'No open requests',
    kindHints: {
      agent: 'An agent outside sayso. You can answer its requests but not send it messages.',
      terminal: 'Claude running in a terminal. Answer its requests here or there. Send messages in the terminal.',
    },
    noMessages: 'No messages yet.',
    notFound: 'This session doesn’t exist, or you don’t have access to it.',
    backToList: 'Back to sessions',
    unreachable: (runner: string) =>
      `${runner} can’t be reached. Claude continues there, and your answers reach it when the connection is back. If it stays unreachable, check the machine.`,
    unreachableShort: (runner: string) => `${runner} can’t be reached`,
    andMore: (n: number) => ` · ${n} more`,
    alsoHere: (names: string[]) => `${list(names)} ${names.length === 1 ? 'is' : 'are'} here`,

    changes: 'Changes and files',
    interrupt: 'Interrupt',
    resume: 'Resume',
    kill: 'Kill',

    folder: 'Folder',
    permissionMode: 'Permission mode',
    model: 'Model',
    defaultModel: 'Default model',
    mode: (mode: string) => own(modes, mode) ?? mode,

    composer: 'Message',
    messageLabel: 'Message to Claude',
    message: 'Message to Claude',
    messageQueue: 'Queue a message for Claude',
    messageResume: 'Message to Claude (resumes the session)',
    messageShort: 'Message',
    queueShort: 'Queue a message',
    viewerCannot: 'View only. You can’t send messages in this session.',
    viewerShort: 'View only',
    tools: 'More for this message',
    send: 'Send',
    queue: 'Queue',
    queueMessage: 'Queue message',
    draftSaved: 'Draft saved:',
    resumeAndSend: 'Resume and send',
    // Starts like the labels of the other two buttons and contains the visible text.
    resumeAndSendNamed: 'Send: resume and send',
    resuming: 'Resuming Claude…',
    sendHint: 'Enter sends, Shift+Enter starts a new line',
    sending: 'Sending…',
    waitsForConnection: 'Sent when you reconnect',
    notSent: (why: string, back: boolean) =>
      ['Message not sent.', why, back ? 'It is back in the message field.' : ''].filter(Boolean).join(' '),
    restoreMessage: 'Restore message',
    queuedMessages: (n: number) => `${count(n, 'message', 'messages')} queued until Claude finishes.`,
    queuedForResume: (n: number) => `${count(n, 'message', 'messages')} queued until you resume this session.`,

    transcript: 'Transcript',
    copyBlock: 'Copy block',
    copyLink: 'Copy link to this message',
    more: 'More',
    archived: 'Archived',
    terminalSessions: 'Terminal sessions',
    archive: 'Archive',
    search: 'Search',
    searchSessions: 'Search sessions',
    jump: 'Jump to end',
    newItems: (n: number) => `${n} new`,
    you: 'You',
    thinking: 'Thinking',
    plan: 'Plan',
    preparing: (tool: string) => (tool ? `Preparing ${tool}…` : 'Working…'),
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
      noResult: 'No result',
    },
    resolved: (it: { outcome: string; summary: string; reasons?: Record<string, Reason> }) =>
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
      `${mine ? 'Your earlier answer' : by ? `${by}’s earlier answer` : 'The earlier answer'} was sent again after Claude resumed`,
    resolvedBy: (by: string | null, device: string | null, time: string) =>
      [by ? (device ? `${by} on ${device}` : by) : '', time].filter(Boolean).join(' · '),
    turnFailed: (subtype: string, text: string) =>
      text ||
      own(
        { error_during_execution: 'The turn was interrupted.', error_max_turns: 'The turn limit was reached.' },
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
    subagent: 'a subagent',

    title: {
      bash: 'Run a command',
      write: 'Write a file',
      edit: 'Edit a file',
      plan: 'Approve a plan',
      fetch: 'Fetch a web page',
      search: 'Search the web',
      mcp: (tool: string, server: string) => `Use ${server}: ${tool}`,
      other: (tool: string) => `Use ${tool}`,
      questions: (n: number, who = 'Claude') => (n === 1 ? `${who} has a question` : `${who} has ${n} questions`),
      elicitation: 'An MCP server requests input',
      visit: 'An MCP server wants you to open a page',
    },
    questions: (n: number) => count(n, 'question', 'questions'),
    planReady: 'Plan ready',

    hiddenCharacter: (name: string) => `hidden character ${name}`,
    outside: 'outside this session’s folder',
  },
}

export type Messages = typeof en

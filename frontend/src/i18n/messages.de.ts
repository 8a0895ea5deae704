import { clock, count, decimal, list } from './format'
import { own, type Messages } from './messages.en'
import { translateReason } from './errors.de'

const modes: Record<string, string> = {
  default: 'Vor Änderungen fragen',
  acceptEdits: 'Änderungen annehmen',
  plan: 'Erst planen',
  bypassPermissions: 'Genehmigungen umgehen',
  dontAsk: 'Ablehnen, sofern nicht erlaubt',
  auto: 'Automatisch',
}

/** The asker as an object or after a preposition: "den Agenten". */
export const whom = (who: string) => own({ 'Der Agent': 'den Agenten', 'Der MCP-Server': 'den MCP-Server' }, who) ?? who
/** The asker after "von". */
export const from = (who: string) => own({ 'Der Agent': 'dem Agenten', 'Der MCP-Server': 'dem MCP-Server' }, who) ?? who

const are = (names: string[]) => (names.length === 1 ? 'ist' : 'sind')

export const deviceInGerman = (name: string) =>
  name.replace(/ on (?=(Linux|Windows|macOS|Android|ChromeOS|iPhone|iPad)$)/, ' unter ')

export const de: Messages = {
  translateReason,
  device: deviceInGerman,

  ui: {
    cancel: 'Abbrechen',
    back: 'Zurück',
    close: 'Schließen',
    dismiss: 'Schließen',
    copyCode: 'Code kopieren',
    openIn: (editor) => `In ${editor} öffnen`,
    copied: 'Kopiert',
    notCopied: 'Kopieren fehlgeschlagen. Der Browser blockiert den Zugriff auf die Zwischenablage.',
  },

  shell: {
    sessions: 'Sitzungen',
    newSession: 'Neue Sitzung',
    sidebar: 'Seitenleiste',
    phone: 'Smartphone',
    settings: 'Einstellungen',
    themes: { system: 'System', light: 'Hell', dark: 'Dunkel' },
    signOut: 'Abmelden',
    account: 'Konto',
    inbox: 'Eingang',
    admin: 'Verwaltung',
    caughtUp: 'Alles erledigt.',
    pendingCount: (n) => `${count(n, 'Anfrage wartet', 'Anfragen warten')} auf dich.`,
    selectSession: 'Wähle eine Sitzung oder starte eine neue.',
    review: 'Prüfen',
  },

  connection: {
    connecting: 'Verbindung wird hergestellt …',
    reconnecting: 'Verbindung wird wiederhergestellt …',
    offline: 'Du bist offline. Deine Antworten sind gespeichert und werden gesendet, sobald du wieder verbunden bist.',
    waiting: 'Keine Verbindung zum Server.',
    unreachableSince: (since) => `Der Server ist seit ${clock(since)} nicht erreichbar.`,
    retryingIn: (seconds) => `Nächster Versuch in ${seconds} s.`,
    retryNow: 'Erneut versuchen',
    updated: 'sayso wurde aktualisiert.',
    outdated: 'Diese Seite ist veraltet.',
    reload: 'Neu laden',
    unreachable: 'Der Server war nicht erreichbar. Nichts wurde geändert.',
    signedOut: 'Du bist abgemeldet. Melde dich wieder an.',
    notAllowed: 'Dazu fehlt dir die Berechtigung.',
    tooMany: 'Zu viele Versuche. Warte eine Minute und versuche es dann noch einmal.',
    refused: (status) => `Der Server hat diese Anfrage abgelehnt (${status}).`,
  },

  attention: {
    waiting: (n) => `${count(n, 'Anfrage wartet', 'Anfragen warten')} auf dich.`,
    approval: (session, what) => `Genehmigung nötig in ${session}: ${what}.`,
    question: (session) => `Neue Frage in ${session}.`,
  },

  session: {
    stateOf: {
      waiting: 'Wartet auf dich',
      running: 'Läuft',
      your_turn: 'Du bist dran',
      idle: 'Inaktiv',
      ended: 'Beendet',
    },
    unseen: (n) => `${n} neu`,
    failed: 'Fehlgeschlagen',
    untitled: 'Sitzung ohne Titel',
    demo: 'Demo',
    loading: 'Wird geladen …',
    starting: 'Claude startet …',
    kind: { agent: 'Agent', terminal: 'Terminal' },
    noOpenRequests: 'Keine offenen Anfragen',
    kindHints: {
      agent: 'Ein Agent außerhalb von sayso. Du kannst seine Anfragen beantworten, ihm aber keine Nachrichten senden.',
      terminal:
        'Claude läuft in einem Terminal. Beantworte seine Anfragen hier oder dort. Nachrichten sendest du im Terminal.',
    },
    noMessages: 'Noch keine Nachrichten.',
    notFound: 'Diese Sitzung gibt es nicht oder du hast keinen Zugriff darauf.',
    backToList: 'Zurück zu den Sitzungen',
    unreachable: (runner) =>
      `${runner} ist nicht erreichbar. Claude arbeitet dort weiter und bekommt deine Antworten, sobald die Verbindung wieder steht. Dauert es länger, prüfe diesen Rechner.`,
    unreachableShort: (runner) => `${runner} ist nicht erreichbar`,
    andMore: (n) => ` · ${n} weitere`,
    alsoHere: (names) => `${list(names)} ${are(names)} hier`,

    changes: 'Änderungen und Dateien',
    interrupt: 'Unterbrechen',
    resume: 'Fortsetzen',
    kill: 'Beenden',

    folder: 'Ordner',
    permissionMode: 'Berechtigungsmodus',
    model: 'Modell',
    defaultModel: 'Standardmodell',
    mode: (mode) => own(modes, mode) ?? mode,

    composer: 'Nachricht',
    messageLabel: 'Nachricht an Claude',
    message: 'Nachricht an Claude',
    messageQueue: 'Nachricht für Claude einreihen',
    messageResume: 'Nachricht an Claude (setzt die Sitzung fort)',
    messageShort: 'Nachricht',
    queueShort: 'Nachricht einreihen',
    viewerCannot: 'Nur Lesezugriff. Du kannst in dieser Sitzung keine Nachrichten senden.',
    viewerShort: 'Nur Lesezugriff',
    tools: 'Mehr zu dieser Nachricht',
    send: 'Senden',
    queue: 'Einreihen',
    queueMessage: 'Nachricht einreihen',
    draftSaved: 'Entwurf gespeichert:',
    resumeAndSend: 'Fortsetzen und senden',
    resumeAndSendNamed: 'Senden: Fortsetzen und senden',
    resuming: 'Claude wird fortgesetzt …',
    sendHint: 'Enter sendet, Umschalt+Enter beginnt eine neue Zeile',
    sending: 'Wird gesendet …',
    waitsForConnection: 'Wird gesendet, sobald du wieder verbunden bist',
    notSent: (why, back) =>
      ['Nachricht nicht gesendet.', why, back ? 'Sie steht wieder im Nachrichtenfeld.' : ''].filter(Boolean).join(' '),
    restoreMessage: 'Nachricht wiederherstellen',
    queuedMessages: (n) => `${count(n, 'Nachricht wartet', 'Nachrichten warten')}, bis Claude fertig ist.`,
    queuedForResume: (n) =>
      `${count(n, 'Nachricht wartet', 'Nachrichten warten')}, bis diese Sitzung fortgesetzt wird.`,

    transcript: 'Verlauf',
    copyBlock: 'Block kopieren',
    copyLink: 'Link zu dieser Nachricht kopieren',
    more: 'Mehr',
    archived: 'Archiviert',
    terminalSessions: 'Terminalsitzungen',
    archive: 'Archiv',
    search: 'Suchen',
    searchSessions: 'Sitzungen suchen',
    jump: 'Zum Ende springen',
    newItems: (n) => `${n} neu`,
    you: 'Du',
    thinking: 'Überlegungen',
    plan: 'Plan',
    preparing: (tool) => (tool ? `${tool} wird vorbereitet …` : 'In Arbeit …'),
    todo: {
      title: 'Zu tun ·',
      count: (done, all) => `${done} von ${all}`,
      completed: 'Erledigt:',
      in_progress: 'In Arbeit:',
      pending: 'Zu tun:',
    },
    tool: {
      running: 'Läuft',
      done: 'Fertig',
      failed: 'Fehlgeschlagen',
      noResult: 'Ohne Ergebnis',
    },
    resolved: (it) =>
      (it.summary && translateReason(it.summary, it.reasons?.['summary'])) ||
      own(
        {
          answered: 'Beantwortet',
          denied: 'Abgelehnt',
          withdrawn: 'Zurückgezogen',
          expired: 'Zeit abgelaufen',
        },
        it.outcome,
      ) ||
      it.outcome,
    carriedOver: 'Übernommen',
    edited: 'Bearbeitet',
    afterWaiting: (span) => `nach ${span}`,
    carried: (by, mine) =>
      `${mine ? 'Deine frühere Antwort' : by ? `Die frühere Antwort von ${by}` : 'Die frühere Antwort'} wurde nach dem Fortsetzen von Claude erneut gesendet`,
    resolvedBy: (by, device, time) =>
      [by ? (device ? `${by} mit ${deviceInGerman(device)}` : by) : '', time].filter(Boolean).join(' · '),
    turnFailed: (subtype, text) =>
      text ||
      own(
        {
          error_during_execution: 'Die Runde wurde unterbrochen.',
          error_max_turns: 'Das Limit für Runden ist erreicht.',
        },
        subtype,
      ) ||
      `Die Runde endete mit ${subtype}.`,
    tokens: (input, output) => `${input} Tokens ein, ${output} aus`,
    cost: (usd) =>
      decimal(usd, usd < 0.1 ? 4 : 2, { style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' }),
  },

  pending: {
    asker: {
      claude: (home) => `Claude in ${home}`,
      server: (name) => `MCP-Server ${name} über Claude`,
      unnamed: 'ohne Namen',
      itself: 'Claude',
      theAgent: 'Der Agent',
      theServer: 'Der MCP-Server',
    },

    dock: 'Anfragen',
    subagent: 'einem Subagenten',

    title: {
      bash: 'Befehl ausführen',
      write: 'Datei schreiben',
      edit: 'Datei bearbeiten',
      plan: 'Plan genehmigen',
      fetch: 'Webseite abrufen',
      search: 'Im Web suchen',
      mcp: (tool, server) => `${server}: ${tool} verwenden`,
      other: (tool) => `${tool} verwenden`,
      questions: (n, who = 'Claude') => (n === 1 ? `${who} hat eine Frage` : `${who} hat ${n} Fragen`),
      elicitation: 'Ein MCP-Server fordert eine Eingabe an',
      visit: 'Ein MCP-Server möchte, dass du eine Seite öffnest',
    },
    questions: (n) => count(n, 'Frage', 'Fragen'),
    planReady: 'Plan fertig',

    hiddenCharacter: (name) => `verstecktes Zeichen ${name}`,
    outside: 'außerhalb des Ordners dieser Sitzung',
  },
}

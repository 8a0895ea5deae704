import { ago, clock, count, decimal, list } from './format'
import { own, type Messages } from './messages.en'
import { said } from './server.de'

const modes: Record<string, string> = {
  default: 'Vor Änderungen fragen',
  acceptEdits: 'Änderungen annehmen',
  plan: 'Erst planen',
  bypassPermissions: 'Nichts fragen',
  dontAsk: 'Ablehnen, was nicht erlaubt ist',
  auto: 'Automatisch',
}

/** The asker as an object or after a preposition: "den Agenten". */
export const whom = (who: string) => own({ 'Der Agent': 'den Agenten', 'Der MCP-Server': 'den MCP-Server' }, who) ?? who
const inside = (who: string) => who.replace(/^Der /, 'der ')

const are = (names: string[]) => (names.length === 1 ? 'ist' : 'sind')
const stopped = (sentence: string) => (/[.!?]$/.test(sentence) ? sentence : sentence + '.')

export const de: Messages = {
  said,

  ui: {
    cancel: 'Abbrechen',
    back: 'Zurück',
    close: 'Schließen',
    dismiss: 'Schließen',
    copyCode: 'Code kopieren',
    copied: 'Kopiert',
    notCopied: 'Der Browser hat das Kopieren nicht erlaubt.',
  },

  shell: {
    sessions: 'Sitzungen',
    newSession: 'Neue Sitzung',
    settings: 'Einstellungen',
    theme: 'Farben',
    themes: { system: 'System', light: 'Hell', dark: 'Dunkel' },
    signOut: 'Abmelden',
    account: 'Konto',
    waiting: (n) => `${n} ${n === 1 ? 'wartet' : 'warten'}`,
    nothingWaits: 'Nichts wartet auf dich.',
    someWait: (n) => (n === 1 ? 'Eine Anfrage wartet auf dich.' : `${n} Anfragen warten auf dich.`),
    choose: 'Wähle eine Sitzung oder starte eine neue.',
    review: 'Ansehen',
  },

  account: {
    motto: 'Nichts läuft ohne dein Ja.',
    signingIn: 'Anmeldung läuft…',
    how: 'Eine Anmeldeadresse, die einmal gilt, bekommst du auf dem Server mit:',
    otherwise: 'Ohne Passwort anmelden',
    name: 'Name',
    password: 'Passwort',
    token: 'Anmeldeadresse oder Token',
    use: 'Verwenden',
    signIn: 'Anmelden',
    noStorage:
      'Dieser Browser speichert für diese Adresse nichts: Beim Neuladen wirst du abgemeldet. Um angemeldet zu bleiben, erlaube Websitedaten.',
    boundNow: 'Anmeldungen gelten jetzt nur für diese Adresse. Melde dich neu an.',
    spent: 'Diese Anmeldeadresse wurde schon benutzt oder ist abgelaufen. Wie du eine neue bekommst, steht unten.',
  },

  environment: {
    label: 'Worauf Sitzungen laufen',
    title: 'Noch können keine Sitzungen laufen',
    details: 'Einzelheiten',
    hide: 'Vorerst ausblenden',
    noCLI:
      'Claude Code wurde auf dem Server nicht gefunden. Installiere es dort, oder starte sayso mit --claude und dem Pfad der CLI.',
    notSignedIn:
      'Claude Code ist auf dem Server nicht angemeldet. Führe dort claude aus und melde dich an, oder starte sayso mit gesetztem ANTHROPIC_API_KEY.',
    demo: 'Demo-Sitzung ausprobieren',
    check: 'Erneut prüfen',
  },

  connection: {
    connecting: 'Verbindung wird aufgebaut…',
    reconnecting: 'Verbindung wird wieder aufgebaut…',
    offline: 'Du bist offline. Deine Antworten sind gespeichert und gehen raus, sobald die Verbindung wieder da ist.',
    waiting: 'Keine Verbindung zum Server.',
    gone: (since) => `Der Server ist seit ${clock(since)} nicht erreichbar.`,
    again: (seconds) => `Nächster Versuch in ${seconds} s.`,
    retryNow: 'Jetzt versuchen',
    updated: 'sayso wurde aktualisiert.',
    outdated: 'Diese Seite ist zu alt für den Server.',
    reload: 'Neu laden',
    unreachable: 'Der Server war nicht erreichbar. Nichts wurde geändert.',
    signedOut: 'Du bist abgemeldet. Melde dich wieder an.',
    notAllowed: 'Das darfst du nicht.',
    tooMany: 'Zu viele Versuche. Warte eine Minute und versuche es dann wieder.',
    refused: (status) => `Der Server hat das abgelehnt (${status}).`,
  },

  attention: {
    waiting: (n) => `${count(n, 'Anfrage wartet', 'Anfragen warten')} auf dich.`,
    approval: (session, what) => `Freigabe nötig in ${session}: ${what}.`,
    question: (session) => `In ${session} wartet eine Frage.`,
  },

  session: {
    group: {
      waiting: 'Wartet auf dich',
      running: 'Läuft',
      your_turn: 'Du bist dran',
      idle: 'In Ruhe',
      ended: 'Beendet',
    },
    stateOf: {
      waiting: 'Wartet auf dich',
      running: 'Läuft',
      your_turn: 'Du bist dran',
      idle: 'In Ruhe',
      ended: 'Beendet',
    },
    unseen: (n) => `${n} neu`,
    unseenWords: 'Blöcke, die kamen, seit du hier zuletzt hingesehen hast',
    review: 'Ansehen',
    failed: 'Gescheitert',
    untitled: 'Sitzung ohne Titel',
    demo: 'Demo',
    none: 'Noch keine Sitzungen.',
    loading: 'Wird geladen…',
    starting: 'Claude startet…',
    kind: { agent: 'Agent', terminal: 'Terminal' },
    kindQuiet: 'Nichts offen',
    kindWords: {
      agent: 'Hier fragt ein Agent außerhalb von sayso. Du kannst ihm antworten, aber keine Nachrichten schicken.',
      terminal:
        'Hier fragt ein Claude aus einem Terminal. Antworten kannst du hier oder dort, Nachrichten nimmt er nur dort an.',
    },
    lifecycle: {
      label: 'Fortschritt der Sitzung',
      what: (type) => {
        const [thing = '', , end = ''] = type.split(/(-)(?=[^-]*$)/)
        const name = thing.charAt(0).toUpperCase() + thing.slice(1).replaceAll('-', ' ')
        const word = own({ started: 'begonnen', completed: 'abgeschlossen' }, end)
        return word ? `${name} ${word}` : type.replaceAll('-', ' ')
      },
      phase: (name, number) => [number && `Phase ${number}`, name].filter(Boolean).join(': '),
      step: (step, total) => (total === undefined ? `Schritt ${step}` : `Schritt ${step} von ${total}`),
    },
    nothingYet: 'Noch wurde nichts gesagt.',
    gone: 'Diese Sitzung gibt es nicht, oder du darfst sie nicht sehen.',
    backToList: 'Zurück zu den Sitzungen',
    andMore: (n) => ` · ${n} weitere`,
    alsoHere: (names) => `${list(names)} ${are(names)} hier`,

    interrupt: 'Unterbrechen',
    resume: 'Fortsetzen',
    kill: 'Beenden',
    killNamed: (title) => `Sitzung ${title} beenden`,
    killTitle: (title) => `„${title}“ beenden?`,
    killWords: (open) =>
      (open > 0
        ? `${count(open, 'offene Anfrage wird', 'offene Anfragen werden')} abgelehnt, und der Claude-Prozess endet sofort. `
        : 'Der Claude-Prozess endet sofort. ') + 'Der Verlauf bleibt, und die Sitzung kann fortgesetzt werden.',

    newSession: 'Neue Sitzung',
    folder: 'Ordner',
    folderExample: (path) => `Zum Beispiel ${path}`,
    recentFolders: 'Zuletzt benutzte Ordner',
    prompt: 'Was soll Claude tun?',
    promptExample: 'Beschreibe die Aufgabe',
    permissionMode: 'Berechtigungsmodus',
    model: 'Modell',
    defaultModel: 'Standardmodell',
    start: 'Sitzung starten',
    mode: (mode) => own(modes, mode) ?? mode,
    modeWords: (mode) =>
      own(
        {
          default: 'Claude fragt, bevor es Befehle ausführt oder Dateien ändert.',
          acceptEdits: 'Claude ändert Dateien im Ordner ohne zu fragen und fragt, bevor es Befehle ausführt.',
          plan: 'Claude liest und macht einen Plan und ändert nichts, bis du den Plan freigibst.',
        },
        mode,
      ) ?? '',

    composer: 'Nachricht',
    messageLabel: 'Nachricht an Claude',
    message: 'Nachricht an Claude',
    messageQueue: 'Nachricht einreihen',
    messageResume: 'Nachricht an Claude. Beim Senden wird die Sitzung fortgesetzt.',
    messageShort: 'Nachricht',
    queueShort: 'Nächste Nachricht',
    viewerCannot: 'Du kannst diese Sitzung ansehen, aber nicht in ihr schreiben.',
    viewerShort: 'Du kannst nur zusehen',
    attach: 'Dateien anhängen',
    send: 'Senden',
    queue: 'Einreihen',
    queueMessage: 'Nachricht einreihen',
    draftKept: 'Entwurf bleibt:',
    resumeAndSend: 'Fortsetzen und senden',
    resumeAndSendNamed: 'Senden: Fortsetzen und senden',
    resuming: 'Claude wird damit fortgesetzt…',
    sendHint: 'Enter sendet, Umschalt+Enter beginnt eine neue Zeile',
    sending: 'Wird gesendet…',
    waitsForConnection: 'Wartet auf die Verbindung',
    notSent: (why, back) =>
      ['Deine Nachricht wurde nicht angenommen.', why, back ? 'Sie steht wieder im Feld.' : '']
        .filter(Boolean)
        .join(' '),
    putBack: 'Zurückholen',
    queuedMessages: (n) => `${count(n, 'Nachricht wartet', 'Nachrichten warten')}, bis Claude fertig ist.`,
    queuedForResume: (n) =>
      `${count(n, 'Nachricht wartet', 'Nachrichten warten')}, bis diese Sitzung fortgesetzt wird.`,

    transcript: 'Verlauf',
    copyBlock: 'Diesen Block kopieren',
    more: 'Mehr',
    archived: 'Archiviert',
    inTerminals: 'Aus Terminals',
    inArchive: 'Archiv',
    searchSessions: 'Sitzungen suchen',
    jump: 'Zum Ende springen',
    newItems: (n) => `${n} neu`,
    you: 'Du',
    thinking: 'Überlegung',
    plan: 'Plan',
    preparing: (tool) => (tool ? `${tool} wird vorbereitet…` : 'Arbeitet…'),
    steps: (n) => count(n, 'Schritt', 'Schritte'),
    showEarlier: (n) => `${count(n, 'früheren Schritt', 'frühere Schritte')} zeigen`,
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
      failed: 'Gescheitert',
    },
    resolved: (it) =>
      (it.summary && said(it.summary)) ||
      own(
        {
          answered: 'Beantwortet',
          denied: 'Abgelehnt',
          withdrawn: 'Zurückgezogen',
          expired: 'Die Zeit ist abgelaufen',
        },
        it.outcome,
      ) ||
      it.outcome,
    carriedOver: 'Übernommen',
    edited: 'Bearbeitet',
    afterWaiting: (span) => `nach ${span}`,
    carried: (by, mine) =>
      `${mine ? 'Deine frühere Antwort' : by ? `Die frühere Antwort von ${by}` : 'Die frühere Antwort'} wurde wieder gegeben, nachdem Claude fortgesetzt wurde`,
    resolvedBy: (by, device, time) =>
      [by ? (device ? `${by} mit ${said(device)}` : by) : '', time].filter(Boolean).join(' · '),
    turnFailed: (subtype, text) =>
      text ||
      own(
        { error_during_execution: 'Der Zug wurde unterbrochen.', error_max_turns: 'Die Grenze der Züge ist erreicht.' },
        subtype,
      ) ||
      `Der Zug endete mit ${subtype}.`,
    tokens: (input, output) => `${input} Tokens hinein, ${output} heraus`,
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
    waitingCount: (n) => (n === 1 ? 'Eine Anfrage wartet auf dich' : `${n} Anfragen warten auf dich`),
    review: 'Ansehen',
    hide: 'Ausblenden',
    details: 'Einzelheiten der Anfrage',
    waiting: (span) => `wartet seit ${span}`,
    closesIn: (span) => `schließt in ${span}`,
    closesSoon: (span) => `Eine Frage schließt in ${span}.`,
    moreTime: '+5 Minuten',
    moreTimeHint: 'Fünf Minuten länger auf die Antwort warten',
    by: (agent) => `gefragt von ${agent}`,
    subagent: 'einem Subagenten',
    answering: (names) => `${list(names)} ${names.length === 1 ? 'antwortet' : 'antworten'} gerade`,
    takeOver: 'Übernehmen',
    orphaned:
      'Claude ist stehen geblieben, bevor eine Antwort kam. Nichts wurde ausgeführt. Du kannst trotzdem antworten: Deine Antwort wird aufgehoben und gegeben, wenn Claude fortgesetzt wird.',
    earlier: {
      said: (by, what, same) =>
        `Bevor Claude stehen blieb, hat ${by ?? 'jemand'} ${same ? 'diese' : 'eine ähnliche'} ${what === 'question' ? 'Frage' : 'Anfrage'} beantwortet:`,
      again:
        'Vielleicht hat Claude das gehört und danach gehandelt, bevor es stehen blieb. Das weiß niemand, deshalb wirst du noch einmal gefragt.',
      show: 'Was damals gefragt wurde',
      same: 'Damals wurde dasselbe gefragt, in anderer Form.',
      was: 'Damals',
      now: 'Jetzt',
    },

    title: {
      bash: 'Claude will einen Befehl ausführen',
      write: 'Claude will eine Datei schreiben',
      edit: 'Claude will eine Datei ändern',
      plan: 'Claude hat einen Plan gemacht',
      fetch: 'Claude will eine Webseite abrufen',
      search: 'Claude will im Web suchen',
      mcp: (tool, server) => `Claude will ${server}: ${tool} benutzen`,
      other: (tool) => `Claude will ${tool} benutzen`,
      questions: (n, who = 'Claude') => (n === 1 ? `${who} hat eine Frage` : `${who} hat ${n} Fragen`),
      elicitation: 'Ein MCP-Server fragt nach etwas',
      visit: 'Ein MCP-Server will, dass du eine Seite öffnest',
    },
    questions: (n) => count(n, 'Frage', 'Fragen'),
    planReady: 'Plan fertig',
    next: 'Nächste Anfrage',

    approve: 'Erlauben',
    deny: 'Ablehnen',
    denyAndInterrupt: 'Ablehnen und unterbrechen',
    reason: 'Grund für Claude (optional)',
    reasonExample: 'Zum Beispiel: nimm pnpm, nicht npm',
    rawJSON: 'Rohes JSON',
    scrollToEnd: (lines) => `Zum Erlauben bis ans Ende blättern (noch ${count(lines, 'Zeile', 'Zeilen')})`,
    edit: {
      start: 'Bearbeiten',
      discard: 'Verwerfen',
      discardEdit: 'Änderung verwerfen',
      byYou: 'Von dir bearbeitet. „Erlauben“ führt es so aus, wie es hier steht.',
      empty: 'Der Befehl ist leer. Lehne ab, wenn nichts laufen soll.',
      object: 'Die Eingabe muss ein JSON-Objekt sein.',
      syntax: (message, line) => `Das ist kein gültiges JSON${line === null ? '' : `, Zeile ${line}`}: ${message}`,
      label: (tool, field) =>
        field === null
          ? 'Eingabe (JSON)'
          : (own(
              {
                command: 'Befehl',
                content: 'Inhalt',
                new_string: 'Ersetzen durch',
              },
              field,
            ) ?? `${field} von ${tool}`),
    },

    dontAsk: 'Hiernach nicht mehr fragen…',
    whatToAllow: 'Was erlaubt sein soll',
    onlyOnce: 'Nur dieses Mal',
    allowRules: 'Immer erlauben',
    allowFolders: 'Claude darf arbeiten in',
    switchMode: (mode) => `Den Modus dieser Sitzung auf „${mode}“ stellen`,
    scope: 'Gilt für',
    scopes: {
      session: 'diese Sitzung',
      localSettings: 'dieses Projekt, für mich',
      projectSettings: 'dieses Projekt, für alle',
      userSettings: 'alle meine Projekte',
    },
    alsoAllows: 'Mit dem Erlauben wird auch die oben gewählte Regel hinzugefügt.',

    queued: 'Offline. Deine Antwort ist gespeichert und geht raus, sobald die Verbindung wieder da ist.',
    unconfirmed: 'Noch nicht bestätigt. Es wird weiter versucht.',
    taken: (who) => `Gesendet. Warten darauf, dass ${inside(who)} es annimmt.`,
    resuming: 'Claude wird mit deiner Antwort fortgesetzt…',
    keptAnswer: 'Deine Antwort ist aufgehoben. Claude bekommt sie, wenn diese Sitzung fortgesetzt wird.',
    refused: (why) => `${why || 'Der Server hat diese Antwort nicht angenommen.'} Nichts wurde gesendet.`,
    viewerOnly: 'Du kannst diese Anfrage ansehen, aber nicht beantworten.',

    ended: {
      label: (title) => `Nicht mehr offen: ${title}`,
      answered: (title) => `Beantwortet: ${title}`,
      elsewhere: (by, device, seconds, summary) =>
        `Beantwortet${by ? ` von ${by}` : ''}${device ? ` mit ${said(device)}` : ''} ${seconds < 10 ? 'gerade eben' : ago(seconds)}: ${stopped(said(summary))}`,
      stale: 'Diese Anfrage ist nicht mehr offen. Nichts wurde gesendet.',
      withdrawn: (who) => `${who} hat diese Anfrage zurückgezogen.`,
      orphan: 'Das wurde anderswo beantwortet, oder Claude braucht keine Antwort mehr.',
      expired: (at, who) => `Die Zeit lief um ${clock(at)} ab. ${who} hat ohne Antwort weitergemacht.`,
      died: (why) => `Der Claude-Prozess endete vor deiner Antwort. Nichts wurde ausgeführt.${why ? ` ${why}` : ''}`,
      keep: 'Meinen Text behalten',
      show: 'Zeigen',
      yourText: 'Was du geschrieben hattest, ist aufgehoben:',
      send: 'Als Nachricht senden',
      copy: 'Kopieren',
      copied: 'Kopiert',
    },

    hiddenCharacter: (name) => `verborgenes Zeichen ${name}`,
    hiddenCharacters: (n) =>
      `${count(n, 'verborgenes Zeichen ist', 'verborgene Zeichen sind')} unten markiert. Der Text ist vielleicht nicht, wonach er aussieht.`,
    addedLine: 'hinzugefügte Zeile: ',
    removedLine: 'entfernte Zeile: ',
    editOf: (i, n) => `Änderung ${i} von ${n}`,
    everyPlace: 'Überall in der Datei ersetzt.',
    outside: 'außerhalb des Ordners dieser Sitzung',
    size: (lines, size) => `${count(lines, 'Zeile', 'Zeilen')} · ${size}`,
    emptyFile: 'Die Datei wird leer sein.',
    replaces: 'Eine schon vorhandene Datei wird ersetzt.',
    timeout: (span) => `hält nach ${span} an`,
    background: 'läuft im Hintergrund',
    noSandbox: 'außerhalb der Sandbox',
    inFolder: 'in',
  },
}

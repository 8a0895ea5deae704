import type { words as english } from './words.en'

export const words: typeof english = {
  title: 'Einstellungen',
  limits: 'Limits',
  approvals: {
    title: 'Genehmigungen',
    lead: 'Optionen zum Beantworten von Anfragen in diesem Browser.',
    undoHint: 'So lange wird deine Antwort zurückgehalten, bevor Claude sie bekommt.',
  },
  rules: {
    title: 'Berechtigungen',
    lead: 'Regeln, nach denen Claude ohne Rückfrage handelt. Hier siehst du, wofür jede Regel gilt und wie oft sie verwendet wurde, und kannst sie widerrufen.',
    open: 'Berechtigungen anzeigen',
  },

  appearance: {
    title: 'Darstellung',
    language: 'Sprache',
    useBrowserLanguage: 'Sprache des Browsers',
    theme: 'Erscheinungsbild',
    density: 'Dichte',
    densities: { comfortable: 'Komfortabel', compact: 'Kompakt' },
    size: 'Schriftgröße',
    sizeOf: (percent) => `${percent} %`,
    motion: 'sayso reduziert Bewegung, wenn dein System darauf eingestellt ist.',
    undoAppliesTo: 'Rückgängig möglich für',
    undoWindow: 'Zeit zum Rückgängigmachen',
    seconds: (n) => `${n} Sekunden`,
    undoChoices: {
      usual: 'Touch, mittleres und hohes Risiko, Sammelgenehmigungen',
      high: 'Hohes Risiko und Sammelgenehmigungen',
      always: 'Alle Entscheidungen',
      never: 'Keine Entscheidung',
    },
    sideBySide: 'Dateiänderungen nebeneinander',
    sideBySideHint: (key) => `Auf breiten Bildschirmen.${key && ` Mit ${key} schaltest du in einer Anfrage um.`}`,
    browserHint: 'Diese Einstellungen gelten nur für diesen Browser.',
  },

  editor: {
    title: 'Editor',
    open: 'Dateien öffnen in',
    none: 'Keiner',
    host: 'SSH-Host',
    thisDevice: 'Dieses Gerät',
    hint: 'Fügt Links hinzu, die Dateien und Ordner von Sitzungen in einem Editor auf diesem Gerät öffnen. In diesem Browser gespeichert.',
    hostHint:
      'Wenn sayso auf einem anderen Rechner läuft, gib dessen SSH-Host an, wie dein Editor ihn kennt, zum Beispiel atlas oder ana@atlas. Lass das Feld leer, wenn sayso auf diesem Gerät läuft. In diesem Browser gespeichert.',
    localHint:
      'Öffnet Dateien nur, wenn sayso auf diesem Gerät läuft und ein Projekt mit dem Namen des Ordners existiert. In diesem Browser gespeichert.',
    wrongHost: 'Gib einen Hostnamen an, bei Bedarf mit Benutzername vor @ oder Port nach einem Doppelpunkt.',
  },

  keys: {
    change: 'Tastenkürzel anpassen',
    lead: 'In deinem Konto gespeichert und auf allen deinen Geräten gültig. Klicke auf „Ändern“ und drücke die neue Taste. Esc bricht ab.',
    changeOne: 'Ändern',
    changeOf: (what) => `Tastenkürzel ändern: ${what}`,
    pressKey: 'Taste drücken …',
    reset: 'Zurücksetzen',
    resetOf: (what) => `Tastenkürzel zurücksetzen: ${what}`,
    resetAll: 'Alle Tastenkürzel zurücksetzen',
    conflict: (others) => `Auch verwendet für: ${others.join('; ')}`,
    needsModifier: 'Dieses Tastenkürzel funktioniert auch beim Schreiben und braucht daher Strg, ⌘ oder Alt.',
    unsaved: (why) => `Nur in diesem Browser gespeichert: ${why}`,
  },

  templates: {
    title: 'Gespeicherte Antworten',
    lead: (key) =>
      `Füge sie als Ablehnungsgrund, als Antwort oder in eine Nachricht ein. ${key && `Mit ${key} wählst du eine aus. `}Nichts wird automatisch gesendet.`,
    learned: 'Vorschläge aus deinem Verlauf',
    places: { own: 'Überall', reason: 'Ablehnungsgrund', answer: 'Antwort', message: 'Nachricht' },
    name: 'Name',
    nameHint: 'Zum Beispiel: pnpm',
    text: 'Text',
    add: 'Antwort hinzufügen',
    save: 'Speichern',
    cancel: 'Abbrechen',
    edit: 'Bearbeiten',
    saveWithName: 'Mit Namen speichern',
    remove: 'Entfernen',
    editOf: (name) => `Bearbeiten: ${name}`,
    saveWithNameOf: (name) => `Mit Namen speichern: ${name}`,
    removeOf: (name) => `Entfernen: ${name}`,
  },

  announcements: {
    title: 'Ansagen des Screenreaders',
    levels: {
      summaries: 'Zusammenfassung jeder Runde',
      off: 'Nur Anfragen',
      full: 'Jeder Block der offenen Sitzung',
    },
    hint: 'Neue Anfragen werden immer angesagt.',
  },

  sound: {
    on: 'Ton bei neuen Anfragen',
    hint: 'Ein Tab spielt den Ton ab, nachdem du darin geklickt oder getippt hast.',
    test: 'Ton abspielen',
  },

  alerts: {
    title: 'Benachrichtigungen',
    lead: 'Wenn niemand sayso ansieht, benachrichtigt es dich einmal, 5 Sekunden nach Eingang einer Anfrage. Sobald jemand antwortet, wird die Benachrichtigung entfernt.',
    occasionsLabel: 'Benachrichtigen bei',
    ways: { push: 'Browser', webhook: 'Webhook', ntfy: 'ntfy' },
    occasions: { waiting: 'Neue Anfragen', finished: 'Abgeschlossene Runden', died: 'Unerwartet beendete Prozesse' },
    includeOthers: 'Auch Sitzungen anderer Personen',
    showText: 'Befehl oder Frage anzeigen',
    showTextHint:
      'Der Text läuft über den eingestellten Push-Dienst oder Server. Andernfalls nennen Benachrichtigungen nur das Werkzeug und die Sitzung.',
    remind: 'Mich erinnern',
    escalate: 'Alle und die Ziele des Servers benachrichtigen',
    never: 'nie',
    after: (minutes) => `nach ${minutes} min`,
    quietHours: 'Ruhezeit',
    quietFrom: 'Von',
    quietTo: 'Bis',
    quietZone: 'Zeitzone',
    saved: 'Gespeichert.',
    save: 'Speichern',
  },

  devices: {
    title: 'Geräte',
    none: 'Keine Geräte registriert',
    add: 'Benachrichtigungen in diesem Browser einschalten',
    on: 'Benachrichtigungen sind in diesem Browser eingeschaltet.',
    denied:
      'Dieser Browser blockiert Benachrichtigungen von sayso. Erlaube sie in seinen Einstellungen für diese Website.',
    unsupported:
      'Dieser Browser kann hier keine Benachrichtigungen anzeigen. Verwende HTTPS oder localhost. Füge sayso auf einem iPhone zum Home-Bildschirm hinzu.',
    test: 'Testen',
    testOf: (name) => `Test an ${name} senden`,
    remove: 'Entfernen',
    removeOf: (name) => `${name} entfernen`,
    lastNotified: (at) => `zuletzt benachrichtigt ${at}`,
    neverNotified: 'noch nicht benachrichtigt',
    tested: (name) => `Test an ${name} gesendet.`,
    testFailed: (name, why) => `Test nicht an ${name} gesendet. ${why}`,
  },

  targets: {
    title: 'Webhooks und ntfy',
    none: 'Noch keine Webhooks oder ntfy-Themen.',
    add: 'Hinzufügen',
    kind: 'Art',
    url: 'URL',
    urlHint: { webhook: 'https://example.org/hook', ntfy: 'https://ntfy.sh/ein-thema-das-niemand-errät' },
    secret: 'Signaturschlüssel (mindestens 16 Zeichen)',
    token: 'Zugriffstoken (optional)',
    priority: 'Priorität',
    priorities: { 0: 'Standard des Servers', 1: '1, niedrigste', 2: '2', 3: '3', 4: '4', 5: '5, höchste' },
    shownOnce: 'URL und Schlüssel werden nicht noch einmal angezeigt.',
  },

  server: {
    title: 'Benachrichtigungen des Servers',
    lead: 'Für alle, zum Beispiel in einem Teamkanal.',
  },
}

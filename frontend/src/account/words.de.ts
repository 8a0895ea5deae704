import type { words as english } from './words.en'

export const words: typeof english = {
  account: 'Konto',
  name: 'Name',

  signIn: {
    motto: 'Nichts läuft ohne dein Ja.',
    signingIn: 'Anmeldung läuft …',
    linkHint: 'Einen einmaligen Anmeldelink bekommst du mit diesem Befehl auf dem Server:',
    withoutPassword: 'Ohne Passwort anmelden',
    name: 'Name',
    password: 'Passwort',
    token: 'Anmeldelink oder Token',
    submit: 'Weiter',
    signIn: 'Anmelden',
    noStorage:
      'Dieser Browser blockiert Websitedaten für diese Adresse. Beim Neuladen wirst du abgemeldet. Erlaube Websitedaten, um angemeldet zu bleiben.',
    signInAgain: 'Die Anmeldung ist jetzt nur noch unter dieser Adresse möglich. Melde dich neu an.',
    linkExpired:
      'Dieser Anmeldelink ist abgelaufen oder wurde schon verwendet. Unten steht, wie du einen neuen bekommst.',
  },

  setUp: {
    title: 'Willkommen',
    lead: 'Erstelle dein Admin-Konto. Vorher kann sich niemand sonst anmelden.',
    invited: (name) => `Hallo, ${name}`,
    invitedLead: 'Wähle, wie du dich künftig anmeldest. Dein Anmeldelink funktioniert nur einmal.',
    byPasskeyHint: 'Fingerabdruck, Gesicht oder PIN statt eines Passworts.',
    password: 'Passwort',
    nameMissing: 'Wähle zuerst einen Namen.',
    done: 'Los geht’s',
    later: 'Später',
    laterHint: 'Bis dahin gibt sayso token --sign-in einen Anmeldelink aus.',
    invitedLaterHint: 'Bis dahin bekommst du einen neuen Anmeldelink nur von einem Admin.',
  },

  sample: {
    label: 'So sieht es aus',
    title: 'Befehl ausführen',
    what: 'Tests der Anmeldung ausführen',
    risk: 'Keine Risiken erkannt',
    deny: 'Ablehnen',
    approve: 'Genehmigen',
    hint: 'Claude fragt hier, bevor es einen Befehl ausführt oder eine Datei ändert. Du antwortest am Rechner oder am Smartphone. Die erste Antwort zählt, und nichts geht verloren, wenn du den Tab schließt.',
  },

  welcome: {
    title: (name) => `Willkommen, ${name}`,
    lead: 'Drei Schritte, etwa zwei Minuten. Danach läuft nichts ohne deine Genehmigung.',
    elsewhere:
      'Sitzungen starten auf Maschinen, die sich mit diesem Server verbinden. Nichts läuft ohne deine Genehmigung.',
    done: 'Fertig',
    install: 'Claude Code installieren',
    installed: 'Claude Code ist installiert',
    version: (v) => `Version ${v}`,
    signIn: 'Bei Claude anmelden',
    signedIn: 'Du bist bei Claude angemeldet',
    inTerminal: 'Führe das einmal in einem Terminal auf dem Server aus. Danach geht es hier weiter.',
    copy: 'Befehl kopieren',
    waitingForInstall: 'Warten auf die Installation',
    waitingForSignIn: 'Warten auf die Anmeldung',
    byKey: 'Stattdessen einen API-Schlüssel verwenden',
    byKeyHint: 'Setze ANTHROPIC_API_KEY auf dem Server und starte sayso neu.',
    folder: 'Ordner wählen',
    folderHint: 'Claude arbeitet in diesem Ordner. Für jede Sitzung kannst du einen anderen wählen.',
    open: 'Weiter',
    lookAround: 'Erst einmal umsehen?',
    phone: 'Smartphone einrichten',
    skip: 'Überspringen',
  },

  password: {
    title: 'Passwort',
    current: 'Aktuelles Passwort',
    new: 'Neues Passwort',
    hint: 'Mindestens 12 Zeichen. Gut geeignet sind mehrere Wörter ohne Zusammenhang.',
    signOutHint: 'Meldet dich auf allen anderen Geräten ab.',
    change: 'Passwort ändern',
    changed: 'Passwort geändert. Du bist auf allen anderen Geräten abgemeldet.',
  },

  devices: {
    title: 'Angemeldete Geräte',
    thisBrowser: 'dieser Browser',
    unknownBrowser: 'Unbekannter Browser',
    since: (from, at) => `seit ${at}${from === '' ? '' : `, von ${from}`}`,
    by: {
      link: 'mit Anmeldelink',
      password: 'mit Passwort',
      passkey: 'mit Passkey',
      oidc: 'über Identitätsanbieter',
      token: 'mit API-Token',
    },
    lastUsed: (at) => `zuletzt verwendet ${at}`,
    signOut: 'Abmelden',
    signOutOf: (device) => `${device} abmelden`,
  },

  passkeys: {
    title: 'Passkeys',
    lead: 'Melde dich mit Fingerabdruck, Gesicht oder PIN statt mit einem Passwort an.',
    example: 'Dieser Laptop',
    create: 'Passkey erstellen',
    created: 'Passkey erstellt. Wähle beim nächsten Mal „Passkey verwenden“.',
    since: (domain, at, used) =>
      `für ${domain}, seit ${at}, ${used === '' ? 'noch nicht verwendet' : `zuletzt verwendet ${used}`}`,
    remove: 'Entfernen',
    removeOf: (name) => `Passkey ${name} entfernen`,
    removed: (name) =>
      `${name} entfernt. Damit angemeldete Geräte sind abgemeldet. Dein Gerät bietet den Passkey vielleicht noch an, er funktioniert hier aber nicht mehr.`,
    use: 'Passkey verwenden',
    unsupported: 'Dieser Browser unterstützt keine Passkeys.',
    why: {
      cancelled:
        'Kein Passkey verwendet. Der Vorgang wurde abgebrochen, dauerte zu lange oder dieses Gerät hat keinen Passkey für diese Adresse.',
      there: 'Dieses Gerät hat schon einen Passkey für dich.',
      failed: 'Der Browser konnte keinen Passkey verwenden. Versuche es noch einmal oder verwende ein anderes Gerät.',
    },
    offerTitle: 'Nächstes Mal ohne Passwort anmelden',
    offerHint: 'Erstelle auf diesem Gerät einen Passkey und entsperre ihn mit Fingerabdruck, Gesicht oder PIN.',
    firstName: 'Erstes Gerät',
    skip: 'Jetzt nicht',
  },

  oidc: {
    use: (name) => `Weiter mit ${name}`,
    denied: 'Der Identitätsanbieter hat dich nicht angemeldet. Versuche es noch einmal oder melde dich anders an.',
    failed:
      'Der Identitätsanbieter hat die Anmeldung nicht abgeschlossen. Versuche es noch einmal. Wenn es nicht klappt, frage einen Admin.',
  },

  identities: {
    title: 'Identitätsanbieter',
    lead: 'Melde dich über deinen Identitätsanbieter statt mit einem Passwort an. Dein Name und deine Rolle hier ändern sich nicht.',
    linked: (at) => `verknüpft am ${at}`,
    managed: 'Der Identitätsanbieter hat dieses Konto erstellt und legt seine Rolle fest.',
    link: (name) => `Mit ${name} verknüpfen`,
    remove: 'Verknüpfung aufheben',
    removeOf: (issuer) => `Verknüpfung mit ${issuer} aufheben`,
    removed: 'Verknüpfung aufgehoben. Damit angemeldete Geräte sind abgemeldet.',
  },

  tokens: {
    title: 'API-Tokens',
    lead: 'Für Skripte. Ein Token handelt in deinem Namen, begrenzt auf die gewählte Rolle.',
    open: 'API-Tokens verwalten',
  },

  signOut: {
    title: (n) =>
      n === 1 ? '1 Antwort oder Nachricht noch nicht gesendet' : `${n} Antworten oder Nachrichten noch nicht gesendet`,
    hint: 'Sie bleiben in diesem Tab und werden gesendet, wenn du dich hier wieder anmeldest. Andere Personen, die sich hier anmelden, können sie weder sehen noch senden.',
    stay: 'Angemeldet bleiben',
    signOut: 'Abmelden',
  },
}

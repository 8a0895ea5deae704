import type { words as english } from './words.en'

export const words: typeof english = {
  account: 'Konto',
  name: 'Name',
  role: 'Rolle',
  roleNames: { viewer: 'Zusehen', member: 'Mitarbeit', admin: 'Verwaltung' },
  roles: { viewer: 'sieht alles, ändert nichts', member: 'arbeitet und antwortet', admin: 'auch Personen und Server' },

  setUp: {
    title: 'Willkommen',
    lead: 'Du bist hier zuerst. Wähle einen Namen und wie du dich anmeldest: Du verwaltest dann diesen Server, und vorher kann sich niemand sonst anmelden.',
    invited: (name) => `Hallo, ${name}`,
    invitedLead:
      'Die Adresse, mit der du gekommen bist, gilt nur einmal. Wähle, wie du dich von jetzt an anmeldest; andere Wege kannst du später unter deinem Namen hinzufügen.',
    byPasskey: 'Mit einem Passkey',
    byPasskeyWords:
      'Mit Fingerabdruck, Gesicht oder PIN. Dann gibt es kein Passwort, das jemand erraten, vergessen oder stehlen könnte.',
    byPassword: 'Mit einem Passwort',
    nameFirst: 'Wähle zuerst einen Namen.',
    done: 'Beginnen',
    later: 'Später',
    laterWords: 'Bis dahin gibt jeder Start des Servers eine Anmeldeadresse aus, danach sayso token --sign-in.',
    invitedLater: 'Bis dahin bringt dich nur eine neue Anmeldeadresse zurück, die jemand aus der Verwaltung macht.',
  },

  password: {
    title: 'Passwort',
    present: 'Jetziges Passwort',
    next: 'Neues Passwort',
    rule: 'Mindestens 12 Zeichen. Gut sind ein paar Wörter, die nichts mit dir zu tun haben.',
    ends: 'Deine anderen Anmeldungen enden.',
    change: 'Ändern',
    changed: 'Dein Passwort ist geändert, und deine anderen Anmeldungen sind beendet.',
  },

  signIns: {
    title: 'Wo du angemeldet bist',
    here: 'dieser Browser',
    unknown: 'Unbekannter Browser',
    since: (from, at) => `seit ${at}${from === '' ? '' : `, von ${from}`}`,
    by: {
      link: 'mit Anmeldeadresse',
      password: 'mit Passwort',
      passkey: 'mit Passkey',
      oidc: 'über einen Anmeldedienst',
      token: 'mit API-Token',
    },
    used: (at) => `zuletzt benutzt ${at}`,
    end: 'Beenden',
    endOf: (device) => `Die Anmeldung in ${device} beenden`,
  },

  passkeys: {
    title: 'Passkeys',
    lead: 'Melde dich mit Fingerabdruck, Gesicht oder PIN an, ohne Passwort.',
    example: 'Dieser Laptop',
    make: 'Passkey erstellen',
    made: 'Der Passkey ist da. Wähle beim nächsten Mal „Passkey benutzen“.',
    since: (domain, at, used) =>
      `für ${domain}, seit ${at}, ${used === '' ? 'noch nicht benutzt' : `zuletzt benutzt ${used}`}`,
    remove: 'Entfernen',
    removeOf: (name) => `Den Passkey ${name} entfernen`,
    removed: (name) =>
      `${name} ist entfernt, und seine Anmeldungen sind beendet. Dein Gerät bietet ihn vielleicht noch an; er öffnet hier nichts mehr.`,
    use: 'Passkey benutzen',
    unsupported: 'Dieser Browser hat keine Passkeys.',
    why: {
      cancelled:
        'Kein Passkey wurde benutzt: Es wurde abgebrochen, dauerte zu lange, oder dieses Gerät hat keinen für diese Adresse.',
      there: 'Dieses Gerät hat schon einen Passkey für dich.',
      failed: 'Der Browser konnte keinen Passkey benutzen. Versuche es noch einmal, oder nimm ein anderes Gerät.',
    },
    after: 'Melde dich das nächste Mal ohne Passwort an',
    afterWords: 'Dieses Gerät kann einen Passkey für dich behalten, geschützt durch Fingerabdruck, Gesicht oder PIN.',
    first: 'Erstes Gerät',
    skip: 'Jetzt nicht',
  },

  oidc: {
    use: (name) => `Weiter mit ${name}`,
    denied:
      'Du hast dich dort nicht angemeldet oder wurdest abgelehnt. Versuche es noch einmal, oder melde dich anders an.',
    failed:
      'Der Anmeldedienst hat dich ohne Anmeldung zurückgeschickt. Versuche es noch einmal; bleibt es so, frage jemanden, der den Server verwaltet.',
  },

  identities: {
    title: 'Anmeldedienst',
    lead: 'Melde dich dort an statt mit einem Passwort. Er sagt, dass du es bist; dein Name und deine Rolle hier bleiben, wie sie sind.',
    since: (at) => `verknüpft am ${at}`,
    made: 'Dieses Konto kam von dort, und seine Rolle auch.',
    link: (name) => `Mit ${name} verknüpfen`,
    remove: 'Lösen',
    removeOf: (issuer) => `Die Verknüpfung mit ${issuer} lösen`,
    removed: 'Die Verknüpfung ist gelöst, und ihre Anmeldungen sind beendet.',
  },

  tokens: {
    title: 'API-Tokens',
    lead: 'Für Skripte. Ein Token handelt in deinem Namen, höchstens mit der Rolle, die du ihm gibst.',
    none: 'Es gibt keine.',
    scope: 'Darf höchstens',
    life: 'Gilt',
    lives: { 7: '7 Tage', 30: '30 Tage', 90: '90 Tage', 365: '1 Jahr', 0: 'bis zum Widerruf' },
    make: 'Token erstellen',
    once: 'Das wird nur einmal gezeigt. Kopiere es jetzt:',
    until: (at) => `bis ${at}`,
    by: (name) => `von ${name}`,
    revoke: 'Widerrufen',
    revokeOf: (name) => `Das Token ${name} widerrufen`,
  },

  people: {
    title: 'Personen',
    add: 'Person hinzufügen',
    out: 'ausgesperrt',
    noPassword: 'kein Passwort',
    shutOut: 'Aussperren',
    letIn: 'Wieder zulassen',
    roleOf: (name) => `Rolle von ${name}`,
    link: 'Anmeldeadresse',
    linkOf: (name) => `Eine Anmeldeadresse für ${name} erstellen`,
    linkWords: (name) =>
      `${name} meldet sich mit dieser Adresse an, einmal, innerhalb von zehn Minuten. Sie wird nur einmal gezeigt:`,
  },
  unsent: {
    title: (n) =>
      n === 1 ? '1 Antwort oder Nachricht noch nicht gesendet' : `${n} Antworten oder Nachrichten noch nicht gesendet`,
    kept: 'Sie bleiben in diesem Tab, bis du dich hier wieder anmeldest, und werden dann gesendet. Wer sich sonst hier anmeldet, sieht und sendet sie nicht.',
    stay: 'Angemeldet bleiben',
    leave: 'Abmelden',
  },
}

// The words of the screens that are loaded when they are asked for: they would
// only make the first page larger.
export const words = {
  account: 'Account',
  name: 'Name',
  role: 'Role',
  roleNames: { viewer: 'viewer', member: 'member', admin: 'admin' },
  roles: { viewer: 'sees', member: 'runs and answers', admin: 'manages' },

  setUp: {
    title: 'Welcome',
    lead: 'You are the first here. Choose a name and how you sign in: you will be the admin of this server, and nobody else can sign in before that.',
    invited: (name: string) => `Hello, ${name}`,
    invitedLead:
      'The address that brought you here works once. Choose how you sign in from now on; you can add other ways later, under your name.',
    byPasskey: 'With a passkey',
    byPasskeyWords:
      'With your fingerprint, face or PIN. There is no password then that could be guessed, forgotten or stolen.',
    byPassword: 'With a password',
    nameFirst: 'Choose a name first.',
    done: 'Begin',
    later: 'Later',
    laterWords:
      'Until then, every start of the server prints a sign-in address; afterwards, sayso token --sign-in does.',
    invitedLater: 'Until then, only another sign-in address from an admin brings you back.',
  },

  password: {
    title: 'Password',
    present: 'Present password',
    next: 'New password',
    rule: 'At least 12 characters. A few words that have nothing to do with you are good.',
    ends: 'Your other sign-ins end.',
    change: 'Change',
    changed: 'Your password is changed, and your other sign-ins have ended.',
  },

  signIns: {
    title: 'Where you are signed in',
    here: 'this browser',
    unknown: 'Unknown browser',
    since: (from: string, at: string) => `since ${at}${from === '' ? '' : `, from ${from}`}`,
    by: {
      link: 'by sign-in address',
      password: 'by password',
      passkey: 'by passkey',
      oidc: 'by identity provider',
      token: 'by API token',
    },
    used: (at: string) => `last used ${at}`,
    end: 'End',
    endOf: (device: string) => `End the sign-in in ${device}`,
  },

  passkeys: {
    title: 'Passkeys',
    lead: 'Sign in with your fingerprint, face or PIN, and no password.',
    example: 'This laptop',
    make: 'Make a passkey',
    made: 'The passkey is here. Next time, choose “Use a passkey”.',
    since: (domain: string, at: string, used: string) =>
      `for ${domain}, since ${at}, ${used === '' ? 'not used yet' : `last used ${used}`}`,
    remove: 'Remove',
    removeOf: (name: string) => `Remove the passkey ${name}`,
    removed: (name: string) =>
      `${name} is removed, and the sign-ins it made have ended. Your device may still offer it; it opens nothing here.`,
    use: 'Use a passkey',
    unsupported: 'This browser has no passkeys.',
    why: {
      cancelled: 'No passkey was used: it was cancelled, took too long, or this device has none for this address.',
      there: 'This device has a passkey for you already.',
      failed: 'The browser could not use a passkey. Try again, or another device.',
    },
    after: 'Sign in without the password next time',
    afterWords: 'This device can keep a passkey for you, behind its fingerprint, face or PIN.',
    first: 'First device',
    skip: 'Not now',
  },

  oidc: {
    use: (name: string) => `Continue with ${name}`,
    denied: 'You did not sign in there, or were refused. Try again, or sign in another way.',
    failed: 'The identity provider sent you back without a sign-in. Try again; if it stays so, ask an admin.',
  },

  identities: {
    title: 'Identity provider',
    lead: 'Sign in there instead of with a password. It says that it is you; your name and role here stay as they are.',
    since: (at: string) => `linked ${at}`,
    made: 'This account came from there, and so does its role.',
    link: (name: string) => `Link ${name}`,
    remove: 'Unlink',
    removeOf: (issuer: string) => `Unlink ${issuer}`,
    removed: 'It is unlinked, and the sign-ins through it have ended.',
  },

  tokens: {
    title: 'API tokens',
    lead: 'For scripts. A token acts as you, at most with the role you give it.',
    none: 'There are none.',
    scope: 'May at most',
    life: 'Good for',
    lives: { 7: '7 days', 30: '30 days', 90: '90 days', 365: '1 year', 0: 'until revoked' },
    make: 'Make token',
    once: 'This is shown once. Copy it now:',
    until: (at: string) => `until ${at}`,
    by: (name: string) => `of ${name}`,
    revoke: 'Revoke',
    revokeOf: (name: string) => `Revoke the token ${name}`,
  },

  people: {
    title: 'People',
    add: 'Add person',
    out: 'shut out',
    noPassword: 'no password',
    shutOut: 'Shut out',
    letIn: 'Let in',
    roleOf: (name: string) => `Role of ${name}`,
    link: 'Sign-in address',
    linkOf: (name: string) => `Make a sign-in address for ${name}`,
    linkWords: (name: string) => `${name} signs in with this address, once, within ten minutes. It is shown once:`,
  },
  unsent: {
    title: (n: number): string =>
      n === 1 ? '1 answer or message not sent yet' : `${n} answers or messages not sent yet`,
    kept: 'They stay in this tab until you sign in here again, and are sent then. Nobody else who signs in here sees or sends them.',
    stay: 'Stay signed in',
    leave: 'Sign out',
  },
}

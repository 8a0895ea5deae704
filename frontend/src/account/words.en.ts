// The texts of account screens load on demand, to keep the first page small.
export const words = {
  account: 'Account',
  name: 'Name',

  signIn: {
    motto: 'Nothing runs without your say-so.',
    signingIn: 'Signing in…',
    linkHint: 'To get a one-time sign-in link, run this on the server:',
    withoutPassword: 'Sign in without a password',
    name: 'Name',
    password: 'Password',
    token: 'Sign-in link or token',
    submit: 'Continue',
    signIn: 'Sign in',
    noStorage:
      'This browser blocks site data for this address, so reloading the page signs you out. Allow site data to stay signed in.',
    signInAgain: 'You can now sign in only at this address. Sign in again.',
    linkExpired: 'This sign-in link has expired or was already used. Get a new one as shown below.',
  },

  setUp: {
    title: 'Welcome',
    lead: 'Create your admin account. Nobody else can sign in until you do.',
    invited: (name: string) => `Hello, ${name}`,
    invitedLead: 'Choose how you sign in from now on. Your sign-in link works only once.',
    byPasskeyHint: 'Use your fingerprint, face or PIN instead of a password.',
    password: 'Password',
    nameMissing: 'Choose a name first.',
    done: 'Get started',
    later: 'Later',
    laterHint: 'Until then, sayso token --sign-in prints a sign-in link.',
    invitedLaterHint: 'Until then, only an admin can give you a new sign-in link.',
  },

  sample: {
    label: 'What you’ll see',
    title: 'Run a command',
    what: 'Run the sign-in tests',
    risk: 'No risks detected',
    deny: 'Deny',
    approve: 'Approve',
    hint: 'Claude asks here before it runs a command or changes a file. You answer at the desk or on your phone. The first answer counts, and nothing is lost if you close the tab.',
  },

  welcome: {
    title: (name: string) => `Welcome, ${name}`,
    lead: 'Three steps, about two minutes. Then nothing runs without your say-so.',
    elsewhere: 'Sessions start on machines that connect to this server. Nothing runs without your say-so.',
    done: 'Done',
    install: 'Install Claude Code',
    installed: 'Claude Code is installed',
    version: (v: string) => `Version ${v}`,
    signIn: 'Sign in to Claude',
    signedIn: 'You’re signed in to Claude',
    inTerminal: 'Run this once in a terminal on the server. This page continues when it’s done.',
    copy: 'Copy command',
    waitingForInstall: 'Waiting for the installation',
    waitingForSignIn: 'Waiting for the sign-in',
    byKey: 'Use an API key instead',
    byKeyHint: 'Set ANTHROPIC_API_KEY on the server and restart sayso.',
    folder: 'Choose a folder',
    folderHint: 'Claude works in this folder. You can choose another for each session.',
    open: 'Continue',
    lookAround: 'Want to look around first?',
    phone: 'Set up your phone',
    skip: 'Skip',
  },

  password: {
    title: 'Password',
    current: 'Current password',
    new: 'New password',
    hint: 'At least 12 characters. Several unrelated words work well.',
    signOutHint: 'Signs you out on all other devices.',
    change: 'Change password',
    changed: 'Password changed. You’re signed out on all other devices.',
  },

  devices: {
    title: 'Signed-in devices',
    thisBrowser: 'this browser',
    unknownBrowser: 'Unknown browser',
    since: (from: string, at: string) => `since ${at}${from === '' ? '' : `, from ${from}`}`,
    by: {
      link: 'by sign-in link',
      password: 'by password',
      passkey: 'by passkey',
      oidc: 'by identity provider',
      token: 'by API token',
    },
    lastUsed: (at: string) => `last used ${at}`,
    signOut: 'Sign out',
    signOutOf: (device: string) => `Sign out ${device}`,
  },

  passkeys: {
    title: 'Passkeys',
    lead: 'Sign in with your fingerprint, face or PIN instead of a password.',
    example: 'This laptop',
    create: 'Create passkey',
    created: 'Passkey created. Next time, choose “Use a passkey”.',
    since: (domain: string, at: string, used: string) =>
      `for ${domain}, since ${at}, ${used === '' ? 'not used yet' : `last used ${used}`}`,
    remove: 'Remove',
    removeOf: (name: string) => `Remove passkey ${name}`,
    removed: (name: string) =>
      `${name} removed. Devices signed in with it are signed out. Your device may still offer the passkey, but it no longer works here.`,
    use: 'Use a passkey',
    unsupported: 'This browser doesn’t support passkeys.',
    why: {
      cancelled:
        'No passkey was used. The prompt was canceled or timed out, or this device has no passkey for this address.',
      there: 'This device already has a passkey for you.',
      failed: 'The browser could not use a passkey. Try again or use another device.',
    },
    offerTitle: 'Sign in without a password next time',
    offerHint: 'Create a passkey on this device and unlock it with your fingerprint, face or PIN.',
    firstName: 'First device',
    skip: 'Not now',
  },

  oidc: {
    use: (name: string) => `Continue with ${name}`,
    denied: 'The identity provider did not sign you in. Try again or sign in another way.',
    failed: 'The identity provider did not complete the sign-in. Try again. If it keeps failing, ask an admin.',
  },

  identities: {
    title: 'Identity provider',
    lead: 'Sign in with your identity provider instead of a password. Your name and role here don’t change.',
    linked: (at: string) => `linked ${at}`,
    managed: 'The identity provider created this account and sets its role.',
    link: (name: string) => `Link ${name}`,
    remove: 'Unlink',
    removeOf: (issuer: string) => `Unlink ${issuer}`,
    removed: 'Unlinked. Devices signed in with it are signed out.',
  },

  tokens: {
    title: 'API tokens',
    lead: 'For scripts. A token acts as you, limited to the role you choose.',
    open: 'Manage API tokens',
  },

  signOut: {
    title: (n: number): string =>
      n === 1 ? '1 answer or message not sent yet' : `${n} answers or messages not sent yet`,
    hint: 'They stay in this tab and are sent when you sign in here again. Nobody else who signs in here can see or send them.',
    stay: 'Stay signed in',
    signOut: 'Sign out',
  },
}

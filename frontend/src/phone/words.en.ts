export const words = {
  title: 'Set up your phone',
  lead: 'Get requests on your phone and answer them there.',
  again: 'Check again',
  copyCommand: 'Copy command',

  scan: {
    title: 'Scan the code',
    code: (host: string) => `QR code that opens ${host}`,
    address: 'Address',
    camera: 'Scan the code with the camera of your phone.',
    signIn: 'Sign in as you do here.',
    rest: 'Add sayso to your home screen and turn on notifications. The page on your phone shows how.',
    copy: 'Copy address',
    noSecret: 'The code contains only the address.',
  },

  networks: { public: 'Public address', tailscale: 'Tailscale', lan: 'Local network' },
  where: {
    public: 'Works wherever the address can be reached.',
    tailscale: 'Your phone must be in the same tailnet.',
    lan: 'Your phone must be on the same network and trust the certificate.',
  },
  through: {
    direct: '',
    proxy: 'You reach this server through a proxy.',
    cloudflare: 'You reach this server through Cloudflare.',
  },

  other: 'Other addresses',
  none: 'Phones can’t reach this server yet',
  noneHint: 'Set up one of these, restart sayso, then check again.',
  askAdmin: 'Ask an admin to set an address that phones can reach.',
  missing: {
    nothing: '',
    tls: 'The server has no certificate. Browsers on phones need HTTPS.',
    listen: 'The server listens only on loopback, so other devices can’t reach it.',
    certificate: 'The certificate doesn’t include this address.',
    renewal: 'The certificate has expired.',
    host: 'The server refuses this host name.',
    serve: 'Tailscale doesn’t forward to sayso yet.',
    name: 'This machine has no name in the tailnet. Turn on MagicDNS and HTTPS in the Tailscale admin console.',
  },
  trust: 'Then install the root certificate of mkcert on your phone.',
  elsewhere: {
    title: 'A proxy or tunnel',
    lead: 'If a reverse proxy or Cloudflare Tunnel forwards to this server, tell sayso its address:',
    recipes:
      'docs/operating/phone.md has recipes for Tailscale, Cloudflare Tunnel, Caddy, nginx and the local network.',
  },

  share: {
    title: 'Share to sayso',
    lead: 'Choose a session. A draft is created there. Nothing is sent yet.',
    nothing: 'Nothing was shared.',
  },

  here: {
    title: 'This phone',
    encrypted: 'The connection is encrypted.',
    open: 'The connection isn’t encrypted, so notifications don’t work here.',
    installed: 'sayso is on your home screen.',
    install: 'Open the browser menu and choose “Add to home screen” or “Install app”.',
    installApple: 'Tap Share, then “Add to Home Screen”. Open sayso from there to turn on notifications.',
  },
}

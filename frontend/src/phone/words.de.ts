import type { words as english } from './words.en'

export const words: typeof english = {
  title: 'Smartphone einrichten',
  lead: 'Erhalte Anfragen auf dem Smartphone und beantworte sie dort.',
  again: 'Erneut prüfen',
  copyCommand: 'Befehl kopieren',

  scan: {
    title: 'Code scannen',
    code: (host) => `QR-Code, der ${host} öffnet`,
    address: 'Adresse',
    camera: 'Scanne den Code mit der Kamera deines Smartphones.',
    signIn: 'Melde dich dort so an wie hier.',
    rest: 'Füge sayso zum Startbildschirm hinzu und schalte Benachrichtigungen ein. Die Seite auf dem Smartphone zeigt, wie das geht.',
    copy: 'Adresse kopieren',
    noSecret: 'Der Code enthält nur die Adresse.',
  },

  networks: { public: 'Öffentliche Adresse', tailscale: 'Tailscale', lan: 'Lokales Netzwerk' },
  where: {
    public: 'Funktioniert überall, wo die Adresse erreichbar ist.',
    tailscale: 'Das Smartphone muss im selben Tailnet sein.',
    lan: 'Das Smartphone muss im selben Netzwerk sein und dem Zertifikat vertrauen.',
  },
  through: {
    direct: '',
    proxy: 'Du erreichst diesen Server über einen Proxy.',
    cloudflare: 'Du erreichst diesen Server über Cloudflare.',
  },

  other: 'Andere Adressen',
  none: 'Smartphones erreichen diesen Server noch nicht',
  noneHint: 'Richte eine dieser Möglichkeiten ein, starte sayso neu und prüfe erneut.',
  askAdmin: 'Bitte einen Admin, eine Adresse einzustellen, die Smartphones erreichen.',
  missing: {
    nothing: '',
    tls: 'Der Server hat kein Zertifikat. Browser auf Smartphones brauchen HTTPS.',
    listen: 'Der Server lauscht nur auf der Loopback-Adresse. Andere Geräte erreichen ihn nicht.',
    certificate: 'Das Zertifikat enthält diese Adresse nicht.',
    renewal: 'Das Zertifikat ist abgelaufen.',
    host: 'Der Server lehnt diesen Hostnamen ab.',
    serve: 'Tailscale leitet noch nicht an sayso weiter.',
    name: 'Dieser Rechner hat keinen Namen im Tailnet. Schalte MagicDNS und HTTPS in der Verwaltung von Tailscale ein.',
  },
  trust: 'Installiere danach das Stammzertifikat von mkcert auf dem Smartphone.',
  elsewhere: {
    title: 'Proxy oder Tunnel',
    lead: 'Wenn ein Reverse Proxy oder Cloudflare Tunnel an diesen Server weiterleitet, nenne sayso dessen Adresse:',
    recipes:
      'docs/operating/phone.md enthält Anleitungen für Tailscale, Cloudflare Tunnel, Caddy, nginx und das lokale Netzwerk.',
  },

  share: {
    title: 'Mit sayso teilen',
    lead: 'Wähle eine Sitzung. Dort entsteht ein Entwurf. Noch wird nichts gesendet.',
    nothing: 'Es wurde nichts geteilt.',
  },

  here: {
    title: 'Dieses Smartphone',
    encrypted: 'Die Verbindung ist verschlüsselt.',
    open: 'Die Verbindung ist nicht verschlüsselt. Benachrichtigungen funktionieren hier nicht.',
    installed: 'sayso ist auf dem Startbildschirm.',
    install: 'Öffne das Menü des Browsers und wähle „Zum Startbildschirm hinzufügen“ oder „App installieren“.',
    installApple:
      'Tippe auf Teilen, dann auf „Zum Home-Bildschirm“. Öffne sayso von dort, um Benachrichtigungen einzuschalten.',
  },
}

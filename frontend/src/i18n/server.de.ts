// What the server says in English, in German. The wire has codes for refusals
// and sentences for people; a sentence that is not known here is shown for its
// code, or as it came.

const SENTENCES: Record<string, string> = {
  'Approved.': 'Erlaubt.',
  'Approved with changes.': 'Mit Änderungen erlaubt.',
  'Answered.': 'Beantwortet.',
  'Denied.': 'Abgelehnt.',
  'Declined.': 'Nicht beantwortet.',
  'Claude withdrew this request.': 'Claude hat diese Anfrage zurückgezogen.',
  'Claude withdrew this request while the server was away.': 'Claude hat diese Anfrage zurückgezogen, während der Server weg war.',
  'Claude asked this again after it was resumed.': 'Claude hat das nach dem Fortsetzen noch einmal gefragt.',
  'Claude went on without asking this again.': 'Claude hat weitergemacht, ohne das noch einmal zu fragen.',
  'Claude stopped waiting for the answer.': 'Claude wartet nicht mehr auf die Antwort.',
  'The question was withdrawn.': 'Die Frage wurde zurückgezogen.',
  'Time ran out before anybody answered.': 'Die Zeit lief ab, bevor jemand geantwortet hat.',
  'Nobody answered in time.': 'Niemand hat rechtzeitig geantwortet.',
  'This request is no longer open.': 'Diese Anfrage ist nicht mehr offen.',
  'This request is no longer open. Your answer was not sent.': 'Diese Anfrage ist nicht mehr offen. Deine Antwort wurde nicht gesendet.',
  'This request is no longer open, so it cannot wait longer.': 'Diese Anfrage ist nicht mehr offen und kann nicht länger warten.',
  'Claude asks something else now than what was shown to you. Look at the request again.': 'Claude fragt jetzt etwas anderes, als dir gezeigt wurde. Sieh dir die Anfrage noch einmal an.',
  'This request is not there, or not yours to see. Nothing was sent.': 'Diese Anfrage gibt es nicht, oder du darfst sie nicht sehen. Nichts wurde gesendet.',
  'They can no longer sign in.': 'Dieses Konto kann sich nicht mehr anmelden.',
  'They may not answer any more.': 'Diese Person darf nicht mehr antworten.',
  'They may not answer this any more.': 'Diese Person darf das nicht mehr beantworten.',
  'Two people must approve this now.': 'Jetzt müssen zwei zustimmen.',
  'This question has no deadline.': 'Diese Frage hat keine Frist.',
  'This question cannot wait any longer.': 'Diese Frage kann nicht länger warten.',
  'The Claude process ended before an answer. Nothing ran.': 'Der Claude-Prozess endete vor einer Antwort. Nichts wurde ausgeführt.',

  'Claude asks nobody in this session, so it was not started by itself. Resume the session, or choose another permission mode first.':
    'Claude fragt in dieser Sitzung niemanden und wurde deshalb nicht von selbst gestartet. Setze die Sitzung fort, oder wähle zuerst einen anderen Berechtigungsmodus.',
  "The settings of this session's folder are not those that somebody trusted, so Claude was not started by itself. Resume the session to look at them.":
    'Die Einstellungen des Ordners sind nicht die, denen jemand vertraut hat. Deshalb wurde Claude nicht von selbst gestartet. Setze die Sitzung fort, um sie anzusehen.',
  'The settings of the folder were changed in the moment in which Claude was to be started. Start again to look at them.':
    'Die Einstellungen des Ordners wurden geändert, gerade als Claude gestartet werden sollte. Starte noch einmal, um sie anzusehen.',
  'The server was stopped.': 'Der Server wurde angehalten.',
  'The server was stopped, and Claude with it.': 'Der Server wurde angehalten, und Claude mit ihm.',
  'The session was deleted.': 'Die Sitzung wurde gelöscht.',
  'The Claude process could not be reached after the server was restarted, so it was ended.': 'Der Claude-Prozess war nach dem Neustart des Servers nicht erreichbar und wurde beendet.',
  'The keeper of this process has not answered since the server was restarted. If it stays so, the process is ended.': 'Der Wächter dieses Prozesses hat seit dem Neustart des Servers nicht geantwortet. Bleibt es so, wird der Prozess beendet.',
  'Claude is not signed in on this server. Run claude there once and sign in, or start sayso with ANTHROPIC_API_KEY set.': 'Claude ist auf diesem Server nicht angemeldet. Führe dort einmal claude aus und melde dich an, oder starte sayso mit gesetztem ANTHROPIC_API_KEY.',
  'The Claude CLI is not installed: there is no command claude in PATH. Install it, or say where it is with --claude.': 'Die Claude-CLI ist nicht installiert: Im PATH gibt es kein claude. Installiere sie, oder gib mit --claude an, wo sie ist.',
  'Claude ended before it had saved this conversation, so it begins afresh with the same messages.': 'Claude endete, bevor es dieses Gespräch gespeichert hatte, und beginnt deshalb neu mit denselben Nachrichten.',
  'Claude summarised the conversation so far to save room.': 'Claude hat das bisherige Gespräch zusammengefasst, um Platz zu sparen.',

  'The disk of the server is full or takes no writes. Until there is space nothing can be answered, sent or started; sessions wait, nothing is lost, and a session can still be ended.': 'Die Platte des Servers ist voll oder nimmt nichts an. Bis Platz ist, kann nichts beantwortet, gesendet oder gestartet werden; Sitzungen warten, nichts geht verloren, und eine Sitzung lässt sich weiterhin beenden.',
  'The disk of the server is full or takes no writes, so this could not be stored. Nothing was changed; try again once there is space.': 'Die Platte des Servers ist voll oder nimmt nichts an, deshalb konnte das nicht gespeichert werden. Nichts wurde geändert; versuche es wieder, wenn Platz ist.',
  'The database of the server does not answer. Until it does nothing can be answered, sent or started; sessions wait, and a session can still be ended.': 'Die Datenbank des Servers antwortet nicht. Bis sie es tut, kann nichts beantwortet, gesendet oder gestartet werden; Sitzungen warten, und eine Sitzung lässt sich weiterhin beenden.',
  'The disk failed under the database of the server, so nothing more is stored until the server is restarted on a sound disk. Sessions wait, and a session can still be ended.': 'Unter der Datenbank des Servers ist die Platte ausgefallen. Bis der Server auf einer heilen Platte neu startet, wird nichts mehr gespeichert. Sitzungen warten, und eine Sitzung lässt sich weiterhin beenden.',
  'The server could not finish this in time. It may have been done; look before you try again.': 'Der Server wurde damit nicht rechtzeitig fertig. Vielleicht ist es geschehen; sieh nach, bevor du es wieder versuchst.',
  'The server is starting or going away. Try again in a moment.': 'Der Server startet gerade oder hält an. Versuche es gleich wieder.',

  'It could not be reached.': 'Das Ziel war nicht erreichbar.',
  'It did not answer in time.': 'Das Ziel hat nicht rechtzeitig geantwortet.',
  'The address leads to this machine or a private network. The settings of the server can allow that.': 'Die Adresse führt zu diesem Rechner oder in ein privates Netz. Die Einstellungen des Servers können das erlauben.',
  'The address must begin with https://.': 'Die Adresse muss mit https:// beginnen.',
  'This is no address. Give one such as https://example.org/path.': 'Das ist keine Adresse. Gib eine an wie https://example.org/pfad.',
  'The secret has at least 16 characters.': 'Das Geheimnis hat mindestens 16 Zeichen.',
  'You have as many places to be told at as there can be. Remove one first.': 'Du hast so viele Ziele, wie es geben kann. Entferne erst eines.',

  'This name and password do not go together.': 'Name und Passwort passen nicht zusammen.',
  'This sign-in link does not work any more: it can be used once, within ten minutes. Ask for a new one.': 'Diese Anmeldeadresse gilt nicht mehr: Sie kann einmal benutzt werden, innerhalb von zehn Minuten. Bitte um eine neue.',
  'This passkey is not known here, or was removed. Sign in another way.': 'Dieser Passkey ist hier nicht bekannt oder wurde entfernt. Melde dich anders an.',
  'Browsers have passkeys only over HTTPS. Start sayso with --public-url and a proxy that does HTTPS, or with a certificate.': 'Browser haben Passkeys nur über HTTPS. Starte sayso mit --public-url und einem Proxy, der HTTPS kann, oder mit einem Zertifikat.',
  'For this your sign-in must be fresh. Sign out, sign in again, and come back here.': 'Dafür muss deine Anmeldung frisch sein. Melde dich ab, wieder an, und komm zurück.',
  'This passkey is here already.': 'Diesen Passkey gibt es hier schon.',
  'The browser made a passkey that cannot be used here. Try another device.': 'Der Browser hat einen Passkey erstellt, der hier nicht brauchbar ist. Versuche ein anderes Gerät.',
  'The message is empty.': 'Die Nachricht ist leer.',
  'Say what Claude should do.': 'Sage, was Claude tun soll.',
  'This conversation is in the list already. Open it there and resume it.': 'Dieses Gespräch steht schon in der Liste. Öffne es dort und setze es fort.',
  'Claude has not said anything in this session yet, so there is nothing to fork.': 'Claude hat in dieser Sitzung noch nichts gesagt, es gibt also nichts abzuzweigen.',
  'A model\'s name consists of letters, digits and - . _ : / @ [ ].': 'Der Name eines Modells besteht aus Buchstaben, Ziffern und - . _ : / @ [ ].',
  'A token cannot do more than its maker.': 'Ein Token kann nicht mehr dürfen, als wer es erstellt.',
  'Give the token a name.': 'Gib dem Token einen Namen.',
  'There is a user of that name already. Choose another one.': 'Diesen Namen hat schon jemand. Wähle einen anderen.',
  'You are linked there already. Unlink that first.': 'Du bist dort schon verknüpft. Löse das zuerst.',
  'Somebody here signs in with this identity already, so it cannot be yours too.': 'Mit dieser Identität meldet sich hier schon jemand an, also kann sie nicht auch deine sein.',
  'This account came from there, and its role does. It cannot be unlinked.': 'Dieses Konto und seine Rolle kommen von dort. Die Verknüpfung lässt sich nicht lösen.',
  'This is your only way to sign in. Make another one first: a password or a passkey.': 'Das ist dein einziger Weg, dich anzumelden. Schaffe erst einen anderen: ein Passwort oder einen Passkey.',
  'This is the last admin. Make somebody else an admin first.': 'Das ist die letzte Person, die verwaltet. Gib diese Rolle erst jemand anderem.',
  'You cannot give a role above your own.': 'Du kannst keine Rolle über deiner eigenen vergeben.',
  'This password is the first that anybody would try. Choose another one.': 'Dieses Passwort würde jeder zuerst versuchen. Wähle ein anderes.',
}

const UNITS: Record<string, [string, string]> = { second: ['Sekunde', 'Sekunden'], minute: ['Minute', 'Minuten'], hour: ['Stunde', 'Stunden'] }
const span = (words: string) => words.replace(/^(\d+) (second|minute|hour)s?$/, (_, n: string, unit: string) => `${n} ${UNITS[unit]![n === '1' ? 0 : 1]}`)
/** Whose sessions a limit is about. */
const whose = (words: string) => words.replace(/^All sessions of (.+) together$/s, 'Alle Sitzungen von $1 zusammen').replace(/^The sessions of one person in (.+)$/s, 'Die Sitzungen einer Person in $1')

type Pattern = [RegExp, (...parts: string[]) => string]
const PATTERNS: Pattern[] = [
  // The line of a record: what was answered, without who did.
  [/^Approved(, edited)?(, with permissions)?$/, (edited, granted) => `Erlaubt${edited ? ', bearbeitet' : ''}${granted ? ', mit Regeln' : ''}`],
  [/^(Denied|Declined)( and stopped)?(?:: (.+))?$/s, (what, stopped, why) =>
    `${what === 'Denied' ? 'Abgelehnt' : 'Nicht beantwortet'}${stopped ? ' und unterbrochen' : ''}${why ? `: ${why}` : ''}`],
  [/^Approved by (.+) with changes\.$/s, (who) => `Von ${who} mit Änderungen erlaubt.`],
  [/^Approved by (.+)\.$/s, (who) => `Von ${who} erlaubt.`],
  [/^Answered by ([^:]+): (.+)$/s, (who, what) => `Von ${who} beantwortet: ${what}`],
  [/^Answered: (.+)$/s, (what) => `Beantwortet: ${what}`],
  [/^Answered by ([^:]+)\.$/s, (who) => `Von ${who} beantwortet.`],
  [/^Denied by ([^:]+): (.+)$/s, (who, why) => `Von ${who} abgelehnt: ${why}`],
  [/^Denied by ([^:]+)\.$/s, (who) => `Von ${who} abgelehnt.`],
  [/^Declined by ([^:]+): (.+)$/s, (who, why) => `Von ${who} nicht beantwortet: ${why}`],
  [/^Declined by ([^:]+)\.$/s, (who) => `Von ${who} nicht beantwortet.`],
  [/^Ended by (.+)\.$/s, (who) => `Von ${who} beendet.`],
  [/^It ran for (.+), the longest a process may\.$/, (d) => `Der Prozess lief ${span(d)}, länger darf keiner.`],
  [/^Nobody wrote for (.+)\.$/, (d) => `Niemand hat etwas geschrieben, ${span(d)} lang.`],
  [/^It gave no sign of life for (.+)\.$/, (d) => `Der Prozess gab kein Lebenszeichen, ${span(d)} lang.`],
  [/^The tool (.+) has been running since (.+) without a sign of life\.$/, (tool, at) => `Das Werkzeug ${tool} läuft seit ${at} ohne Lebenszeichen.`],
  [/^Waiting for the Claude API since (.+): it was not to be reached, and Claude tries again\.$/, (at) => `Seit ${at} wird auf die Claude-API gewartet: Sie war nicht erreichbar, und Claude versucht es wieder.`],
  [/^Waiting for the Claude API, which has sent nothing since (.+)\.$/, (at) => `Es wird auf die Claude-API gewartet, die seit ${at} nichts geschickt hat.`],
  [/^Claude has been silent since (.+), when its turn began\.$/, (at) => `Claude schweigt seit ${at}, seit sein Zug begann.`],
  [/^Claude has said nothing since (.+), and with all it runs it has grown from (.+) to (.+)\.$/, (at, a, b) => `Claude hat seit ${at} nichts gesagt und ist mit allem, was es ausführt, von ${a} auf ${b} gewachsen.`],
  [/^Claude has not picked up the answer to (.+), which was delivered at (.+)\. If this lasts, kill the session and resume it\.$/, (tool, at) => `Claude hat die Antwort zu ${tool} nicht aufgenommen, die um ${at} übergeben wurde. Bleibt es so, beende die Sitzung und setze sie fort.`],
  [/^There is no folder (.+) on the server\.$/, (path) => `Auf dem Server gibt es keinen Ordner ${path}.`],
  [/^The folder (.+) is not there any more\.$/, (path) => `Den Ordner ${path} gibt es nicht mehr.`],
  [/^There is no Claude CLI at (.+) any more\.$/, (path) => `Unter ${path} gibt es keine Claude-CLI mehr.`],
  [/^There is no Claude CLI at (.+)\. Correct the setting --claude, or install the CLI there\.$/, (path) => `Unter ${path} gibt es keine Claude-CLI. Berichtige die Einstellung --claude, oder installiere die CLI dort.`],
  [/^Claude did not answer within (.+) after it was started\.(?: It said: (.+))?$/s, (d, said) => `Claude hat nach dem Start ${span(d)} lang nicht geantwortet.${words(said)}`],
  [/^The Claude process ended by itself(?: \((.+?)\))?\.(?: It said: (.+))?$/s, (how, said) => `Der Claude-Prozess endete von selbst${how ? ` (${how})` : ''}.${words(said)}`],
  [/^The Claude process ended while the server was away(?: \((.+?)\))?\.(?: It said: (.+))?$/s, (how, said) => `Der Claude-Prozess endete, während der Server weg war${how ? ` (${how})` : ''}.${words(said)}`],
  [/^Claude ended as soon as it was started(?: \((.+?)\))?\.(?: It said: (.+))?$/s, (how, said) => `Claude endete gleich nach dem Start${how ? ` (${how})` : ''}.${words(said)}`],
  [/^Claude could not be started: (.+)$/s, (why) => `Claude konnte nicht gestartet werden: ${why}`],
  [/^Passkeys belong to (\S+)\. Open sayso there\.$/, (at) => `Passkeys gehören zu ${at}. Öffne sayso dort.`],
  [/^Browsers keep passkeys for names, not for addresses like (\S+)\. Open sayso at (\S+)\.$/, (ip, at) => `Browser behalten Passkeys für Namen, nicht für Adressen wie ${ip}. Öffne sayso unter ${at}.`],
  [/^Browsers keep passkeys for names, not for addresses like (\S+)\. Give the server a name and start it with --public-url\.$/, (ip) => `Browser behalten Passkeys für Namen, nicht für Adressen wie ${ip}. Gib dem Server einen Namen, und starte ihn mit --public-url.`],
  [/^Browsers have no passkeys for the name (\S+)\. It needs a domain, such as sayso\.example\.org\.$/, (name) => `Browser haben keine Passkeys für den Namen ${name}. Es braucht eine Domain, wie sayso.example.org.`],
  [/^It answered (\d+) ?(.*)\.$/, (status, words) => `Das Ziel hat mit ${status}${words ? ` (${words})` : ''} geantwortet.`],
  [/^(All sessions of .+ together|The sessions of one person in .+) may be (\d+) at once, and so many run\. End one .+ first\.$/s, (w, n) => `${whose(w)} dürfen ${n} zugleich sein, und so viele laufen. Beende erst eine davon.`],
  [/^(All sessions of .+ together|The sessions of one person in .+) may take (.+) of memory, and they take (.+)\. End one .+ first\.$/s, (w, most, now) => `${whose(w)} dürfen ${most} Speicher belegen, und sie belegen ${now}. Beende erst eine davon.`],
  [/^(All sessions of .+ together|The sessions of one person in .+) may cost (\S+) a day, and today they have cost (\S+)\. Claude goes on .+$/s, (w, most, now) => `${whose(w)} dürfen am Tag ${most} kosten, und heute haben sie ${now} gekostet. Claude macht weiter, wenn um 00:00 UTC der nächste Tag beginnt oder jemand, der den Server verwaltet, die Grenze anhebt.`],
  [/^This needs the role (\w+)\. Ask an admin for it\.$/, (role) => `Dafür braucht es die Rolle ${role}. Bitte jemanden darum, der den Server verwaltet.`],
]
const words = (said: string | undefined) => (said ? ` Er sagte: ${said}` : '')

/** By the code of a refusal, for sentences that are not known. */
export const CODES: Record<string, string> = {
  access_changed: 'Was du hier sehen darfst, wurde geändert.',
  already_resolved: 'Jemand war schneller.',
  another_needed: 'Du hast zugestimmt. Noch eine Person muss auch zustimmen.',
  bad_request: 'Der Server versteht diese Anfrage nicht.',
  begun_by_another: 'Das hat jemand anderes begonnen, oder eine andere Anmeldung. Beginne es in deinem Konto von vorn.',
  begin_again: 'Das dauerte zu lange, oder es wurde in einem anderen Browser oder vor einem Neustart des Servers begonnen. Versuche es noch einmal.',
  cannot_extend: 'Die Frist dieser Frage kann nicht verlängert werden.',
  changed: 'Jemand hat das inzwischen geändert. Nichts wurde getan; sieh noch einmal nach.',
  disabled: 'Diese Person ist ausgesperrt. Lass sie erst wieder zu.',
  exists: 'Das gibt es schon.',
  folder_taken: 'Einer dieser Ordner gehört zu einem anderen Projekt. Ein Ordner darin kann ein eigenes Projekt sein.',
  folder_untrusted: 'Niemand hat den Einstellungen dieses Ordners so vertraut, wie sie jetzt sind. Claude wurde nicht gestartet.',
  forbidden: 'Das darfst du nicht.',
  internal: 'Auf dem Server ging etwas schief. Versuche es wieder; mehr steht in seinem Protokoll.',
  invalid: 'Diese Eingabe nimmt der Server nicht an.',
  invalid_answer: 'Diese Antwort nimmt der Server nicht an.',
  invalid_attachment: 'Diese Datei nimmt der Server nicht an.',
  limit_reached: 'Eine Grenze ist erreicht. Beende erst eine Sitzung.',
  method_not_allowed: 'Diese Adresse kann das nicht.',
  no_oidc_here: 'Der Anmeldedienst kennt diesen Server unter einer anderen Adresse. Öffne sayso dort.',
  no_role: 'Du hast dich angemeldet, aber nichts dort gibt dir hier eine Rolle. Frage jemanden, der den Server verwaltet, welche Gruppe du brauchst.',
  oidc_invalid: 'Was der Anmeldedienst über dich sagt, ließ sich nicht prüfen, deshalb wurdest du nicht angemeldet. Versuche es noch einmal; bleibt es so, muss jemand, der den Server verwaltet, in sein Protokoll sehen.',
  oidc_refused: 'Der Anmeldedienst hat diese Anmeldung nicht bestätigt. Versuche es noch einmal; bleibt es so, muss jemand, der den Server verwaltet, in sein Protokoll sehen.',
  oidc_unreachable: 'Der Anmeldedienst ist gerade nicht erreichbar. Versuche es später, oder melde dich anders an.',
  shut_out: 'Du bist von diesem Server ausgesperrt. Frage jemanden, der ihn verwaltet.',
  no_passkeys_here: 'Unter dieser Adresse gibt es keine Passkeys.',
  no_attachment: 'Diese Datei liegt nicht mehr auf dem Server. Hänge sie noch einmal an.',
  held: 'Jemand hat das schon entschieden; es gilt gleich. Solange kann niemand sonst antworten.',
  taken_back: 'Du hast diese Antwort zurückgenommen, sie wurde nicht gesendet. Entscheide neu.',
  nothing_held: 'Es gibt keine Antwort von dir, die du zurücknehmen könntest.',
  not_approved: 'Es gibt keine Zustimmung von dir, die du zurücknehmen könntest.',
  not_by_proxy: 'Dieser Server ist nur über seinen Proxy erreichbar. Öffne ihn unter seiner öffentlichen Adresse.',
  not_low_risk: 'Das hat kein geringes Risiko und lässt sich nicht mit anderen zugleich freigeben. Öffne es, und entscheide darüber für sich.',
  not_found: 'Das gibt es nicht, oder du darfst es nicht sehen.',
  not_ours: 'Claude läuft für diese Sitzung nicht hier. Ihre Fragen können beantwortet werden.',
  not_queued: 'Diese Nachricht wartet nicht mehr: Claude hat sie, oder jemand hat sie zurückgezogen.',
  not_running: 'In dieser Sitzung läuft Claude nicht. Schicke eine Nachricht, oder setze sie erst fort.',
  not_set_up: 'Dieser Server ist noch nicht eingerichtet. Öffne seine Anmeldeadresse auf dem Rechner, auf dem er läuft.',
  not_signed_in: 'Du bist nicht angemeldet. Melde dich an.',
  old_protocol: 'Diese Seite ist zu alt. Lade sie neu.',
  passkey_copied: 'Dieser Passkey wurde abgelehnt: Er zählt rückwärts, wie es eine Kopie täte. Melde dich anders an, entferne ihn, und erstelle einen neuen.',
  running: 'In dieser Sitzung läuft Claude schon.',
  secret_in_url: 'Zugangsdaten dürfen nicht in einer Adresse stehen.',
  stale: 'Diese Anfrage ist nicht mehr offen. Nichts wurde gesendet.',
  too_large: 'Das ist größer, als hier angenommen wird.',
  too_many_attempts: 'Zu viele Fehlversuche von deiner Adresse oder bei diesem Konto. Warte ein wenig, und versuche es dann wieder.',
  unavailable: 'Der Server kann gerade nichts speichern. Nichts wurde geändert; versuche es gleich wieder.',
  unknown_type: 'Der Server kennt diesen Befehl nicht.',
  unsupported_media_type: 'Diese Art von Inhalt nimmt der Server nicht an.',
  upgrade_required: 'Diese Adresse ist für WebSockets.',
  wrong_host: 'Unter diesem Namen ist der Server nicht bekannt. Nimm eine andere Adresse, oder erlaube den Namen mit --allowed-host.',
  wrong_origin: 'Eine andere Seite hat das geschickt, deshalb wurde es abgelehnt. Öffne sayso unter seiner eigenen Adresse.',
  wrong_password: 'Das ist nicht dein jetziges Passwort. Nichts wurde geändert.',
}

/** A sentence of the server in German. */
export function said(sentence: string, code = ''): string {
  if (Object.hasOwn(SENTENCES, sentence)) return SENTENCES[sentence]!
  for (const [pattern, german] of PATTERNS) {
    const match = pattern.exec(sentence)
    if (match) return german(...match.slice(1))
  }
  if (!Object.hasOwn(CODES, code)) return sentence
  // What a person typed wrong is in the sentence, and nowhere else.
  return code.startsWith('invalid') && sentence ? `${CODES[code]!} (${sentence})` : CODES[code]!
}

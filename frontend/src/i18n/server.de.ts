import type { ErrorBody } from '@/wire/messages.gen'
import { germanError } from './errors.de'

// What a process, a request or a notification says in English, in German. Errors are in
// errors.de.ts; a sentence that is not known here is shown as it came.

const SENTENCES: Record<string, string> = {
  'Approved.': 'Genehmigt.',
  'Approved with changes.': 'Mit Änderungen genehmigt.',
  'Denied.': 'Abgelehnt.',
  'Declined.': 'Nicht beantwortet.',
  'Answered.': 'Beantwortet.',
  'Claude withdrew this request.': 'Claude hat diese Anfrage zurückgezogen.',
  'Claude withdrew this request while the server was away.':
    'Claude hat diese Anfrage zurückgezogen, während der Server nicht lief.',
  'Claude asked this again after it was resumed.': 'Claude hat das nach dem Fortsetzen noch einmal gefragt.',
  'Claude went on without asking this again.': 'Claude hat weitergemacht, ohne das noch einmal zu fragen.',
  'Claude stopped waiting for the answer.': 'Claude wartet nicht mehr auf die Antwort.',
  'The question was withdrawn.': 'Die Frage wurde zurückgezogen.',
  'The asker is gone.': 'Der fragende Agent ist nicht mehr verbunden.',
  'The agent cancelled its question.': 'Der Agent hat seine Frage abgebrochen.',
  'The session of the agent has ended, and its token with it.':
    'Die Sitzung des Agenten ist beendet, sein Token ungültig.',
  'Whoever asked this asks something else now.': 'Der Agent fragt jetzt etwas anderes.',
  'It was answered in the terminal.': 'Im Terminal beantwortet.',
  'It was refused in the terminal.': 'Im Terminal abgelehnt.',
  'The claude in the terminal has ended.': 'Claude im Terminal wurde beendet.',
  'Time ran out before anybody answered.': 'Die Zeit ist vor einer Antwort abgelaufen.',
  'Nobody answered in time.': 'Niemand hat rechtzeitig geantwortet.',
  'This request is no longer open.': 'Diese Anfrage ist nicht mehr offen.',
  'This request is no longer open. Your answer was not sent.':
    'Diese Anfrage ist nicht mehr offen. Deine Antwort wurde nicht gesendet.',
  'They can no longer sign in.': 'Dieses Konto kann sich nicht mehr anmelden.',
  'They may not answer any more.': 'Diese Person kann nicht mehr antworten.',
  'They may not answer this any more.': 'Diese Person kann das nicht mehr beantworten.',
  'Two people must approve this now.': 'Jetzt müssen das zwei Personen genehmigen.',
  'The Claude process ended before an answer. Nothing ran.':
    'Der Claude-Prozess endete vor einer Antwort. Nichts wurde ausgeführt.',

  'Claude asked for something else under the id of a request that was still open. That request stayed as it was; the other was not put before anybody, and nothing ran of it. If Claude waits for it, interrupt it.':
    'Claude hat mit der ID einer offenen Anfrage eine andere gestellt. Die offene bleibt unverändert. Die andere wurde niemandem gezeigt und nicht ausgeführt. Unterbrich Claude, falls es darauf wartet.',
  'Claude asked for something else under the id of a request that had ended. That request stays as it was settled; the other was not put before anybody, and nothing ran of it. If Claude waits for it, interrupt it.':
    'Claude hat mit der ID einer geschlossenen Anfrage eine andere gestellt. Die geschlossene bleibt unverändert. Die andere wurde niemandem gezeigt und nicht ausgeführt. Unterbrich Claude, falls es darauf wartet.',
  'Whoever had Claude ask nobody in this session may do so no longer, so it asks again from here on.':
    'Wer diese Sitzung ohne Genehmigungen gestartet hat, hat dieses Recht nicht mehr. Claude fragt ab jetzt wieder.',
  'Whoever had Claude ask nobody may do so no longer, and Claude could not be told to ask.':
    'Wer Claude ohne Genehmigungen gestartet hat, hat dieses Recht nicht mehr. Der Modus ließ sich nicht umstellen.',
  'Claude asks nobody in this session, so it was not started by itself. Resume the session, or choose another permission mode first.':
    'Diese Sitzung umgeht Genehmigungen. Deshalb wurde Claude nicht automatisch gestartet. Setze die Sitzung fort oder wähle zuerst einen anderen Berechtigungsmodus.',
  "The settings of this session's folder are not those that somebody trusted, so Claude was not started by itself. Resume the session to look at them.":
    'Den aktuellen Einstellungen des Ordners hat noch niemand vertraut. Deshalb wurde Claude nicht automatisch gestartet. Setze die Sitzung fort, um sie zu prüfen.',
  'The rules of the project could not be read, so Claude asks.':
    'Die Regeln des Projekts ließen sich nicht lesen, deshalb fragt Claude.',
  'The settings of the folder were changed in the moment in which Claude was to be started. Start again to look at them.':
    'Die Einstellungen des Ordners wurden beim Start von Claude geändert. Starte noch einmal, um sie zu prüfen.',
  'The server was stopped.': 'Der Server wurde beendet.',
  'The server was stopped, and Claude with it.': 'Der Server und Claude wurden beendet.',
  'The session was deleted.': 'Die Sitzung wurde gelöscht.',
  'The Claude process could not be reached after the server was restarted, so it was ended.':
    'Der Claude-Prozess war nach dem Neustart des Servers nicht erreichbar und wurde beendet.',
  'The supervisor of this process has not answered since the server was restarted. If it stays so, the process is ended.':
    'Der Supervisor dieses Prozesses hat seit dem Neustart des Servers nicht geantwortet. Antwortet er weiterhin nicht, wird der Prozess beendet.',
  'The Claude CLI is not installed: there is no command claude in PATH. Install it, or say where it is with --claude.':
    'Die Claude-CLI ist nicht installiert: Im PATH gibt es kein claude. Installiere sie oder gib ihren Pfad mit --claude an.',
  'Claude ended before it had saved the last message, so the message is said again.':
    'Claude endete, bevor es die letzte Nachricht gespeichert hatte. Sie wird deshalb noch einmal gesendet.',
  'Claude ended before it had saved this conversation, so it begins afresh with the same messages.':
    'Claude endete, bevor es diese Unterhaltung gespeichert hatte. Sie beginnt deshalb neu mit denselben Nachrichten.',
  'Claude summarised the conversation so far to save room.':
    'Claude hat die bisherige Unterhaltung zusammengefasst, um Platz zu sparen.',

  'The disk of the server is full or takes no writes. Until there is space nothing can be answered, sent or started; sessions wait, nothing is lost, and a session can still be ended.':
    'Die Festplatte des Servers ist voll oder schreibgeschützt. Solange kein Platz ist, kannst du nichts beantworten, senden oder starten. Sitzungen warten, nichts geht verloren. Sitzungen lassen sich weiterhin beenden.',
  'The database of the server does not answer. Until it does nothing can be answered, sent or started; sessions wait, and a session can still be ended.':
    'Die Datenbank des Servers antwortet nicht. Bis dahin kannst du nichts beantworten, senden oder starten. Sitzungen warten und lassen sich weiterhin beenden.',
  'The disk failed under the database of the server, so nothing more is stored until the server is restarted on a sound disk. Sessions wait, and a session can still be ended.':
    'Die Festplatte der Datenbank ist ausgefallen. Bis der Server auf einer intakten Festplatte neu startet, wird nichts gespeichert. Sitzungen warten und lassen sich weiterhin beenden.',
  'The server is starting or going away. Try again in a moment.':
    'Der Server startet gerade oder wird beendet. Versuche es gleich noch einmal.',

  'It could not be reached.': 'Das Ziel war nicht erreichbar.',
  'It did not answer in time.': 'Das Ziel hat nicht rechtzeitig geantwortet.',

  // Refusals that say more than their code.
  'The sign-in or token it was given with has ended.':
    'Die Anmeldung oder das Token, mit dem sie gegeben wurde, ist beendet.',
  'The beginning of the trail is not what was written.': 'Der Anfang des Audit-Protokolls wurde verändert.',
  'You are signed out. Sign in again.': 'Du bist abgemeldet. Melde dich wieder an.',
  'This server does not know the process any more. Restart the server, or resume the session.':
    'Dieser Server kennt den Prozess nicht mehr. Starte den Server neu oder setze die Sitzung fort.',
  'The supervisor of the process has not answered since the server was restarted.':
    'Der Supervisor des Prozesses hat seit dem Neustart des Servers nicht geantwortet.',
  'Claude is gone, and what it asked can still be answered. The answer is kept and given when the session is resumed.':
    'Claude wurde beendet, seine Anfragen lassen sich aber noch beantworten. Claude erhält die Antworten, wenn die Sitzung fortgesetzt wird.',
  'A person, to say something.': 'Eine Nachricht.',
  "The program does not speak Claude's protocol.": 'Das Programm versteht das Protokoll von Claude nicht.',
  'A running session could not be told. It may go by this rule until its process ends.':
    'Eine laufende Sitzung war nicht erreichbar. Für sie gilt die Regel möglicherweise, bis ihr Prozess endet.',
  'A running session may work in this folder until you next approve something in it, or its process ends.':
    'Eine laufende Sitzung kann in diesem Ordner arbeiten, bis du darin wieder etwas genehmigst oder ihr Prozess endet.',
  'It was given to a Claude that sayso does not run, and holds there until that one ends.':
    'Die Regel wurde einem Claude außerhalb von sayso erteilt und gilt dort bis zu dessen Ende.',
  'What was said earlier is too much to be shown here. Claude knows it all the same.':
    'Der frühere Verlauf ist zu lang für die Anzeige. Claude kennt ihn trotzdem.',
  'It cannot be read.': 'Das lässt sich nicht lesen.',
}

const UNITS: Record<string, [string, string]> = {
  second: ['Sekunde', 'Sekunden'],
  minute: ['Minute', 'Minuten'],
  hour: ['Stunde', 'Stunden'],
}
const span = (words: string) =>
  words.replace(
    /^(\d+) (second|minute|hour)s?$/,
    (_, n: string, unit: string) => `${n} ${UNITS[unit]![n === '1' ? 0 : 1]}`,
  )
const API: Record<string, string> = {
  'The Claude API asks to slow down (429)': 'Die Claude-API begrenzt die Anfragen (429)',
  'The Claude API is overloaded (529)': 'Die Claude-API ist überlastet (529)',
  'The connection to the Claude API failed': 'Die Verbindung zur Claude-API ist fehlgeschlagen',
}

type Pattern = [RegExp, (...parts: string[]) => string]
const PATTERNS: Pattern[] = [
  // The line of a record: what was answered, without who did.
  [
    /^Approved(, edited)?(, with permissions)?$/,
    (edited, granted) => `Genehmigt${edited ? ', bearbeitet' : ''}${granted ? ', mit Berechtigungen' : ''}`,
  ],
  [
    /^(Denied|Declined)( and stopped)?(?:: (.+))?$/s,
    (what, stopped, why) =>
      `${what === 'Denied' ? 'Abgelehnt' : 'Nicht beantwortet'}${stopped ? ' und unterbrochen' : ''}${why ? `: ${why}` : ''}`,
  ],
  [/^Approved by (.+) with changes\.$/s, (who) => `Von ${who} mit Änderungen genehmigt.`],
  [/^Approved by (.+)\.$/s, (who) => `Von ${who} genehmigt.`],
  [/^Answered by ([^:]+): (.+)$/s, (who, what) => `Von ${who} beantwortet: ${what}`],
  [/^Answered: (.+)$/s, (what) => `Beantwortet: ${what}`],
  [/^Answered by ([^:]+)\.$/s, (who) => `Von ${who} beantwortet.`],
  [/^Denied by ([^:]+): (.+)$/s, (who, why) => `Von ${who} abgelehnt: ${why}`],
  [/^Denied by ([^:]+)\.$/s, (who) => `Von ${who} abgelehnt.`],
  [/^Declined by ([^:]+): (.+)$/s, (who, why) => `Von ${who} nicht beantwortet: ${why}`],
  [/^Declined by ([^:]+)\.$/s, (who) => `Von ${who} nicht beantwortet.`],
  [/^Ended by (.+)\.$/s, (who) => `Von ${who} beendet.`],
  [/^(.+) interrupted Claude\.$/s, (who) => `${who} hat Claude unterbrochen.`],
  [/^The turn was interrupted\.$/, () => 'Die Runde wurde unterbrochen.'],
  [/^It ran for (.+), the longest a process may\.$/, (d) => `Zeitlimit erreicht: Der Prozess lief ${span(d)}.`],
  [/^Nobody wrote for (.+)\.$/, (d) => `Keine Nachricht, ${span(d)} lang.`],
  [/^It gave no sign of life for (.+)\.$/, (d) => `Keine Aktivität, ${span(d)} lang.`],
  [
    /^The tool (.+) has been running since (.+) without a sign of life\.$/,
    (tool, at) => `Das Werkzeug ${tool} läuft seit ${at} ohne Aktivität.`,
  ],
  [
    /^Waiting for the Claude API since (.+): it was not to be reached, and Claude tries again\.$/,
    (at) => `Die Claude-API ist seit ${at} nicht erreichbar. Claude versucht es weiter.`,
  ],
  [
    /^Waiting for the Claude API, which has sent nothing since (.+)\.$/,
    (at) => `Warten auf die Claude-API, die seit ${at} nichts gesendet hat.`,
  ],
  [
    /^Claude has been silent since (.+), when its turn began\.$/,
    (at) => `Keine Aktivität seit Beginn der Runde um ${at}.`,
  ],
  [
    /^Claude has said nothing since (.+), and with all it runs it has grown from (.+) to (.+)\.$/,
    (at, a, b) =>
      `Keine Aktivität seit ${at}. Der Speicher von Claude und seinen Prozessen ist von ${a} auf ${b} gestiegen.`,
  ],
  [
    /^Claude has not picked up the answer to (.+), which was delivered at (.+)\. If this lasts, kill the session and resume it\.$/,
    (tool, at) =>
      `Claude hat die Antwort zu ${tool} von ${at} noch nicht übernommen. Wenn das anhält, beende die Sitzung und setze sie fort.`,
  ],
  [
    /^([\w ]+) on (Linux|Windows|macOS|Android|ChromeOS|iPhone|iPad)$/,
    (browser, system) => `${browser} unter ${system}`,
  ],
  [
    /^Claude is not signed in on this server\. Run (.+) there once and sign in, or start sayso with ANTHROPIC_API_KEY set\.$/,
    (program) =>
      `Claude ist auf diesem Server nicht angemeldet. Führe dort einmal ${program} aus und melde dich an oder setze ANTHROPIC_API_KEY und starte sayso neu.`,
  ],
  [/^There is no Claude CLI at (.+) any more\.$/, (path) => `Unter ${path} gibt es keine Claude-CLI mehr.`],
  [
    /^There is no Claude CLI at (.+)\. Correct the setting --claude, or install the CLI there\.$/,
    (path) =>
      `Unter ${path} gibt es keine Claude-CLI. Korrigiere die Einstellung --claude oder installiere die CLI dort.`,
  ],
  [
    /^Claude did not answer within (.+) after it was started\.(?: It said: (.+))?$/s,
    (d, said) => `Claude hat nach dem Start ${span(d)} lang nicht geantwortet.${words(said)}`,
  ],
  [
    /^The Claude process ended by itself(?: \((.+?)\))?\.(?: It said: (.+))?$/s,
    (how, said) => `Der Claude-Prozess wurde unerwartet beendet${how ? ` (${how})` : ''}.${words(said)}`,
  ],
  [
    /^The Claude process ended while the server was away(?: \((.+?)\))?\.(?: It said: (.+))?$/s,
    (how, said) => `Der Claude-Prozess endete, während der Server nicht lief${how ? ` (${how})` : ''}.${words(said)}`,
  ],
  [
    /^Claude ended as soon as it was started(?: \((.+?)\))?\.(?: It said: (.+))?$/s,
    (how, said) => `Claude endete gleich nach dem Start${how ? ` (${how})` : ''}.${words(said)}`,
  ],
  [/^Claude could not be started: (.+)$/s, (why) => `Claude konnte nicht gestartet werden: ${why}`],
  [
    /^It answered (\d+) ?(.*)\.$/,
    (status, words) => `Das Ziel hat mit ${status}${words ? ` (${words})` : ''} geantwortet.`,
  ],
  [
    /^Entry (\d+) is the last that follows the one before it\.$/,
    (n) => `Eintrag ${n} ist der letzte, der zum vorigen passt.`,
  ],
  [
    /^The server (.+) drives it, and this one cannot reach it\. Look there\.$/s,
    (node) => `Der Prozess gehört zum Server ${node}, der von hier nicht erreichbar ist. Sieh dort nach.`,
  ],
  [/^(.+) could not be read: (.+)\.$/s, (file, why) => `${file} ließ sich nicht lesen: ${why}.`],
  [
    /^The Claude CLI at (.+) is not executable\. Make it so with: (.+)$/s,
    (path, how) => `Die Claude-CLI unter ${path} ist nicht ausführbar. Ändere das mit: ${how}`,
  ],
  [/^The Claude CLI at (.+) cannot be read\.$/s, (path) => `Die Claude-CLI unter ${path} lässt sich nicht lesen.`],
  [
    /^The Claude CLI at (.+) did not say its version within (.+)\.$/s,
    (path, d) => `Die Claude-CLI unter ${path} hat ${span(d)} lang ihre Version nicht genannt.`,
  ],
  [
    /^The Claude CLI at (.+?) does not run: (.+)\.$/s,
    (path, why) => `Die Claude-CLI unter ${path} läuft nicht: ${why}.`,
  ],
  [
    /^The program at (.+) is not the Claude CLI: it does not know its version\.$/s,
    (path) => `Das Programm unter ${path} ist nicht die Claude-CLI: Es kennt seine Version nicht.`,
  ],
  [
    /^The program does not speak Claude's protocol\. It said: (.+)$/s,
    (said) => `Das Programm versteht das Protokoll von Claude nicht.${words(said)}`,
  ],
  [
    /^Claude did not start properly: (.+?)\.(?: It said: (.+))?$/s,
    (why, said) => `Claude ist nicht richtig gestartet: ${why}.${words(said)}`,
  ],
  [
    /^(.+)\. Trying again in (\d+) s \(attempt (\d+) of (\d+)\)\.$/s,
    (why, s, n, all) =>
      `${API[why] ?? why.replace(/^The Claude API answered with an error \((\d+)\)$/, 'Die Claude-API hat mit einem Fehler geantwortet ($1)')}. Neuer Versuch in ${s} s (${n} von ${all}).`,
  ],
  [
    /^The rules of (.+) say who may approve this\.$/s,
    (where) => `Die Regeln von ${where} legen fest, wer das genehmigen kann.`,
  ],
  [/^A person, to answer (.+)\.$/s, (what) => `Eine Antwort: ${what.replace(/ requests$/, ' Anfragen')}.`],
]
const words = (said: string | undefined) => (said ? ` Ausgabe: ${said}` : '')

/** A sentence of the server in German; error is what came with it. */
export function said(sentence: string, error?: Pick<ErrorBody, 'reason' | 'params'> | null): string {
  const german = germanError(sentence, error)
  if (german !== null) return german
  if (Object.hasOwn(SENTENCES, sentence)) return SENTENCES[sentence]!
  for (const [pattern, say] of PATTERNS) {
    const match = pattern.exec(sentence)
    if (match) return say(...match.slice(1))
  }
  return sentence
}

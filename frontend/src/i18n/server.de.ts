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
  'Claude withdrew this request while the server was away.':
    'Claude hat diese Anfrage zurückgezogen, während der Server weg war.',
  'Claude asked this again after it was resumed.': 'Claude hat das nach dem Fortsetzen noch einmal gefragt.',
  'Claude went on without asking this again.': 'Claude hat weitergemacht, ohne das noch einmal zu fragen.',
  'Claude stopped waiting for the answer.': 'Claude wartet nicht mehr auf die Antwort.',
  'The question was withdrawn.': 'Die Frage wurde zurückgezogen.',
  'The asker is gone.': 'Niemand wartet mehr auf die Antwort.',
  'The agent cancelled its question.': 'Der Agent hat seine Frage abgebrochen.',
  'The session of the agent has ended, and its token with it.':
    'Die Sitzung des Agenten ist zu Ende und damit sein Token.',
  'Whoever asked this asks something else now.': 'Der Agent fragt jetzt etwas anderes.',
  'It was answered in the terminal.': 'Im Terminal beantwortet.',
  'It was refused in the terminal.': 'Im Terminal abgelehnt.',
  'The claude in the terminal has ended.': 'Das Claude im Terminal ist beendet.',
  'Time ran out before anybody answered.': 'Die Zeit lief ab, bevor jemand geantwortet hat.',
  'Nobody answered in time.': 'Niemand hat rechtzeitig geantwortet.',
  'This request is no longer open.': 'Diese Anfrage ist nicht mehr offen.',
  'This request is no longer open. Your answer was not sent.':
    'Diese Anfrage ist nicht mehr offen. Deine Antwort wurde nicht gesendet.',
  'This request is no longer open, so it cannot wait longer.':
    'Diese Anfrage ist nicht mehr offen und kann nicht länger warten.',
  'Claude asks something else now than what was shown to you. Look at the request again.':
    'Claude fragt jetzt etwas anderes, als dir gezeigt wurde. Sieh dir die Anfrage noch einmal an.',
  'This request is not there, or not yours to see. Nothing was sent.':
    'Diese Anfrage gibt es nicht, oder du darfst sie nicht sehen. Nichts wurde gesendet.',
  'They can no longer sign in.': 'Dieses Konto kann sich nicht mehr anmelden.',
  'They may not answer any more.': 'Diese Person darf nicht mehr antworten.',
  'They may not answer this any more.': 'Diese Person darf das nicht mehr beantworten.',
  'Two people must approve this now.': 'Jetzt müssen zwei zustimmen.',
  'This question has no deadline.': 'Diese Frage hat keine Frist.',
  'This question cannot wait any longer.': 'Diese Frage kann nicht länger warten.',
  'The Claude process ended before an answer. Nothing ran.':
    'Der Claude-Prozess endete vor einer Antwort. Nichts wurde ausgeführt.',

  'Claude asked for something else under the id of a request that was still open. That request stayed as it was; the other was not put before anybody, and nothing ran of it. If Claude waits for it, interrupt it.':
    'Claude hat unter der Kennung einer offenen Anfrage nach etwas anderem gefragt. Die offene blieb, wie sie war; die andere wurde niemandem vorgelegt, und nichts davon wurde ausgeführt. Wartet Claude darauf, unterbrich es.',
  'Claude asked for something else under the id of a request that had ended. That request stays as it was settled; the other was not put before anybody, and nothing ran of it. If Claude waits for it, interrupt it.':
    'Claude hat unter der Kennung einer erledigten Anfrage nach etwas anderem gefragt. Die erledigte bleibt, wie sie ausging; die andere wurde niemandem vorgelegt, und nichts davon wurde ausgeführt. Wartet Claude darauf, unterbrich es.',
  'Whoever had Claude ask nobody in this session may do so no longer, so it asks again from here on.':
    'Wer Claude in dieser Sitzung ohne Fragen arbeiten ließ, darf das nicht mehr. Ab hier fragt es wieder.',
  'Whoever had Claude ask nobody may do so no longer, and Claude could not be told to ask.':
    'Wer Claude ohne Fragen arbeiten ließ, darf das nicht mehr, und Claude ließ sich nicht sagen, dass es fragen soll.',
  'Claude asks nobody in this session, so it was not started by itself. Resume the session, or choose another permission mode first.':
    'Claude fragt in dieser Sitzung niemanden und wurde deshalb nicht von selbst gestartet. Setze die Sitzung fort, oder wähle zuerst einen anderen Berechtigungsmodus.',
  "The settings of this session's folder are not those that somebody trusted, so Claude was not started by itself. Resume the session to look at them.":
    'Die Einstellungen des Ordners sind nicht die, denen jemand vertraut hat. Deshalb wurde Claude nicht von selbst gestartet. Setze die Sitzung fort, um sie anzusehen.',
  'The rules of the project could not be read, so Claude asks.':
    'Die Regeln des Projekts ließen sich nicht lesen, deshalb fragt Claude.',
  'The settings of the folder were changed in the moment in which Claude was to be started. Start again to look at them.':
    'Die Einstellungen des Ordners wurden geändert, gerade als Claude gestartet werden sollte. Starte noch einmal, um sie anzusehen.',
  'The server was stopped.': 'Der Server wurde angehalten.',
  'The server was stopped, and Claude with it.': 'Der Server wurde angehalten, und Claude mit ihm.',
  'The session was deleted.': 'Die Sitzung wurde gelöscht.',
  'The Claude process could not be reached after the server was restarted, so it was ended.':
    'Der Claude-Prozess war nach dem Neustart des Servers nicht erreichbar und wurde beendet.',
  'The keeper of this process has not answered since the server was restarted. If it stays so, the process is ended.':
    'Der Wächter dieses Prozesses hat seit dem Neustart des Servers nicht geantwortet. Bleibt es so, wird der Prozess beendet.',
  'The Claude CLI is not installed: there is no command claude in PATH. Install it, or say where it is with --claude.':
    'Die Claude-CLI ist nicht installiert: Im PATH gibt es kein claude. Installiere sie, oder gib mit --claude an, wo sie ist.',
  'Claude ended before it had saved the last message, so the message is said again.':
    'Claude endete, bevor es die letzte Nachricht gespeichert hatte; sie wird deshalb noch einmal gesagt.',
  'Claude ended before it had saved this conversation, so it begins afresh with the same messages.':
    'Claude endete, bevor es dieses Gespräch gespeichert hatte, und beginnt deshalb neu mit denselben Nachrichten.',
  'Claude summarised the conversation so far to save room.':
    'Claude hat das bisherige Gespräch zusammengefasst, um Platz zu sparen.',

  'The disk of the server is full or takes no writes. Until there is space nothing can be answered, sent or started; sessions wait, nothing is lost, and a session can still be ended.':
    'Die Platte des Servers ist voll oder nimmt nichts an. Bis Platz ist, kann nichts beantwortet, gesendet oder gestartet werden; Sitzungen warten, nichts geht verloren, und eine Sitzung lässt sich weiterhin beenden.',
  'The disk of the server is full or takes no writes, so this could not be stored. Nothing was changed; try again once there is space.':
    'Die Platte des Servers ist voll oder nimmt nichts an, deshalb konnte das nicht gespeichert werden. Nichts wurde geändert; versuche es wieder, wenn Platz ist.',
  'The database of the server does not answer. Until it does nothing can be answered, sent or started; sessions wait, and a session can still be ended.':
    'Die Datenbank des Servers antwortet nicht. Bis sie es tut, kann nichts beantwortet, gesendet oder gestartet werden; Sitzungen warten, und eine Sitzung lässt sich weiterhin beenden.',
  'The disk failed under the database of the server, so nothing more is stored until the server is restarted on a sound disk. Sessions wait, and a session can still be ended.':
    'Unter der Datenbank des Servers ist die Platte ausgefallen. Bis der Server auf einer heilen Platte neu startet, wird nichts mehr gespeichert. Sitzungen warten, und eine Sitzung lässt sich weiterhin beenden.',
  'The server could not finish this in time. It may have been done; look before you try again.':
    'Der Server wurde damit nicht rechtzeitig fertig. Vielleicht ist es geschehen; sieh nach, bevor du es wieder versuchst.',
  'The server is starting or going away. Try again in a moment.':
    'Der Server startet gerade oder hält an. Versuche es gleich wieder.',

  'It could not be reached.': 'Das Ziel war nicht erreichbar.',
  'It did not answer in time.': 'Das Ziel hat nicht rechtzeitig geantwortet.',
  'The address leads to this machine or a private network. The settings of the server can allow that.':
    'Die Adresse führt zu diesem Rechner oder in ein privates Netz. Die Einstellungen des Servers können das erlauben.',
  'The address must begin with https://.': 'Die Adresse muss mit https:// beginnen.',
  'This is no address. Give one such as https://example.org/path.':
    'Das ist keine Adresse. Gib eine an wie https://example.org/pfad.',
  'The secret has at least 16 characters.': 'Das Geheimnis hat mindestens 16 Zeichen.',
  'You have as many places to be told at as there can be. Remove one first.':
    'Du hast so viele Ziele, wie es geben kann. Entferne erst eines.',

  'This name and password do not go together.': 'Name und Passwort passen nicht zusammen.',
  'This sign-in link does not work any more: it can be used once, within ten minutes. Ask for a new one.':
    'Diese Anmeldeadresse gilt nicht mehr: Sie kann einmal benutzt werden, innerhalb von zehn Minuten. Bitte um eine neue.',
  'This passkey is not known here, or was removed. Sign in another way.':
    'Dieser Passkey ist hier nicht bekannt oder wurde entfernt. Melde dich anders an.',
  'Browsers have passkeys only over HTTPS. Start sayso with --public-url and a proxy that does HTTPS, or with a certificate.':
    'Browser haben Passkeys nur über HTTPS. Starte sayso mit --public-url und einem Proxy, der HTTPS kann, oder mit einem Zertifikat.',
  'For this your sign-in must be fresh. Sign out, sign in again, and come back here.':
    'Dafür muss deine Anmeldung frisch sein. Melde dich ab, wieder an, und komm zurück.',
  'This passkey is here already.': 'Diesen Passkey gibt es hier schon.',
  'The browser made a passkey that cannot be used here. Try another device.':
    'Der Browser hat einen Passkey erstellt, der hier nicht brauchbar ist. Versuche ein anderes Gerät.',
  'The message is empty.': 'Die Nachricht ist leer.',
  'Say what Claude should do.': 'Sage, was Claude tun soll.',
  'This conversation is in the list already. Open it there and resume it.':
    'Dieses Gespräch steht schon in der Liste. Öffne es dort und setze es fort.',
  'Claude has not said anything in this session yet, so there is nothing to fork.':
    'Claude hat in dieser Sitzung noch nichts gesagt, es gibt also nichts abzuzweigen.',
  "A model's name consists of letters, digits and - . _ : / @ [ ].":
    'Der Name eines Modells besteht aus Buchstaben, Ziffern und - . _ : / @ [ ].',
  'A token cannot do more than its maker.': 'Ein Token kann nicht mehr dürfen, als wer es erstellt.',
  'Give the token a name.': 'Gib dem Token einen Namen.',
  'There is a user of that name already. Choose another one.': 'Diesen Namen hat schon jemand. Wähle einen anderen.',
  'You are linked there already. Unlink that first.': 'Du bist dort schon verknüpft. Löse das zuerst.',
  'Somebody here signs in with this identity already, so it cannot be yours too.':
    'Mit dieser Identität meldet sich hier schon jemand an, also kann sie nicht auch deine sein.',
  'This account came from there, and its role does. It cannot be unlinked.':
    'Dieses Konto und seine Rolle kommen von dort. Die Verknüpfung lässt sich nicht lösen.',
  'This is your only way to sign in. Make another one first: a password or a passkey.':
    'Das ist dein einziger Weg, dich anzumelden. Schaffe erst einen anderen: ein Passwort oder einen Passkey.',
  'This is the last admin. Make somebody else an admin first.':
    'Das ist die letzte Person, die verwaltet. Gib diese Rolle erst jemand anderem.',
  'You cannot give a role above your own.': 'Du kannst keine Rolle über deiner eigenen vergeben.',
  'This password is the first that anybody would try. Choose another one.':
    'Dieses Passwort würde jeder zuerst versuchen. Wähle ein anderes.',

  // Refusals that say more than their code.
  'You may not start sessions in this folder.': 'In diesem Ordner darfst du keine Sitzungen starten.',
  'An API token does not sign out. Revoke it under /api/tokens.':
    'Ein API-Token meldet sich nicht ab. Widerrufe es unter /api/tokens.',
  'A server is set up in a browser, with the address that its start printed.':
    'Ein Server wird im Browser eingerichtet, mit der Adresse, die er beim Start gezeigt hat.',
  'A token that has a scope or expires cannot do this. Sign in in a browser, without a token.':
    'Ein Token, das eingeschränkt ist oder abläuft, kann das nicht. Melde dich in einem Browser ohne Token an.',
  'For this, sign in without a token: with your passkey or at your identity provider.':
    'Melde dich dafür ohne Token an: mit deinem Passkey oder bei deinem Identitätsanbieter.',
  'The sign-in or token it was given with has ended.':
    'Die Anmeldung oder das Token, mit dem sie gegeben wurde, ist beendet.',
  'Your browser sent 2 sign-in cookies, so the request was refused. Delete the cookies of this address, then sign in again.':
    'Dein Browser hat 2 Anmelde-Cookies gesendet, deshalb wurde die Anfrage abgelehnt. Lösche die Cookies dieser Adresse und melde dich neu an.',
  'This is done in a browser that is signed in, not with an API token.':
    'Das geht in einem angemeldeten Browser, nicht mit einem API-Token.',
  'There is no such option.': 'Diese Auswahl gibt es nicht.',
  'This form is not one question. Answer it in the web app.':
    'Das ist nicht nur eine Frage. Beantworte sie in der Web-App.',
  'This is no key of a browser.': 'Das ist kein Schlüssel eines Browsers.',
  'These are no keys of a browser.': 'Das sind keine Schlüssel eines Browsers.',
  'This server takes no attachments.': 'Dieser Server nimmt keine Anhänge.',
  'The beginning of the trail is not what was written.':
    'Der Anfang des Protokolls ist nicht mehr, was geschrieben wurde.',
  'Claude Code demands that this is decided on its own. Open it, and decide about it there.':
    'Claude Code verlangt, dass das für sich entschieden wird. Öffne es und entscheide dort.',
  'Claude Code allows no rule with this approval. Approve it this once.':
    'Claude Code lässt mit dieser Erlaubnis keine Regel zu. Erlaube es dieses eine Mal.',
  'Together with others a tool can only be approved, as it was asked and this once. Answer this request on its own.':
    'Zusammen mit anderen lässt sich ein Werkzeug nur erlauben, wie gefragt und dieses eine Mal. Beantworte diese Anfrage für sich.',
  'This is too long to follow you to another device. It is kept on this one.':
    'Das ist zu lang, um dir auf ein anderes Gerät zu folgen. Auf diesem bleibt es erhalten.',
  'A template needs a name.': 'Eine Vorlage braucht einen Namen.',
  'A template needs a text.': 'Eine Vorlage braucht einen Text.',
  'This folder is not trusted in that way any more. Look at the list again.':
    'So wird diesem Ordner nicht mehr vertraut. Sieh dir die Liste noch einmal an.',
  'The path is longer than a path can be.': 'Der Pfad ist länger, als ein Pfad sein kann.',
  'There is no such grant, or it is not yours to see.':
    'Diese Erlaubnis gibt es nicht, oder du darfst sie nicht sehen.',
  'The database does not answer.': 'Die Datenbank antwortet nicht.',
  'What you may see here was changed.': 'Was du hier sehen darfst, wurde geändert.',
  'What you may do here was changed.': 'Was du hier tun darfst, wurde geändert.',
  'You are signed out. Sign in again.': 'Du bist abgemeldet. Melde dich wieder an.',
  'You are not signed in. Sign in, or send an API token.': 'Du bist nicht angemeldet. Melde dich an.',
  'The server cannot store anything now. Nothing was changed; try again in a moment.':
    'Der Server kann gerade nichts speichern. Nichts wurde geändert; versuche es gleich wieder.',
  'The disk failed under the database of the server, and it is unknown whether this was stored. Look again once the server was restarted.':
    'Unter der Datenbank des Servers ist die Platte ausgefallen, und niemand weiß, ob das gespeichert wurde. Sieh nach, wenn der Server neu gestartet ist.',
  'This server knows no identity provider.': 'Dieser Server kennt keinen Anmeldedienst.',
  'You are shut out of this server. Ask an admin.':
    'Du bist von diesem Server ausgesperrt. Frage jemanden, der ihn verwaltet.',
  'This server does not know the process any more. Restart the server, or resume the session.':
    'Dieser Server kennt den Prozess nicht mehr. Starte den Server neu, oder setze die Sitzung fort.',
  'The keeper of the process has not answered since the server was restarted.':
    'Der Wächter des Prozesses hat seit dem Neustart des Servers nicht geantwortet.',
  'Claude is gone, and what it asked can still be answered. The answer is kept and given when the session is resumed.':
    'Claude ist weg, und was es gefragt hat, lässt sich noch beantworten. Die Antwort wird aufgehoben und gegeben, wenn die Sitzung fortgesetzt wird.',
  'A person, to say something.': 'Auf eine Nachricht.',
  'Name, folders, limits and the right to run without asking are for an admin of the server to change.':
    'Name, Ordner, Grenzen und das Recht, ohne Fragen zu arbeiten, ändert nur, wer den Server verwaltet.',
  'There is no such session, or it is not yours to see.':
    'Diese Sitzung gibt es nicht, oder du darfst sie nicht sehen.',
  'An agent outside sayso asks in this session. It has no process here, so its questions can be answered and nothing else.':
    'In dieser Sitzung fragt ein Agent außerhalb von sayso. Er hat hier keinen Prozess, also lassen sich nur seine Fragen beantworten.',
  "A Claude in somebody's terminal asks in this session. Go to the terminal; here its questions can be answered and nothing else.":
    'In dieser Sitzung fragt ein Claude in einem Terminal. Geh zum Terminal; hier lassen sich nur seine Fragen beantworten.',
  'There is nothing of that id, or it is not yours to see.': 'Das gibt es nicht, oder du darfst es nicht sehen.',
  'There is nothing of that id.': 'Das gibt es nicht.',
  'There is a project of that name already.': 'Ein Projekt dieses Namens gibt es schon.',
  'There is a session of that id already.': 'Diese Sitzung gibt es schon.',
  'This cursor is none that the server gave. Begin the list again.':
    'Diese Liste lässt sich so nicht fortsetzen. Beginne sie von vorn.',
  'This page is out of date. Load it again.': 'Diese Seite ist zu alt. Lade sie neu.',
  'The server takes no more connections now. Try again in a moment.':
    'Der Server nimmt gerade keine weiteren Verbindungen an. Versuche es gleich wieder.',
  'The edited input is empty.': 'Die geänderte Eingabe ist leer.',
  'The edited input must be a JSON object.': 'Die geänderte Eingabe muss ein JSON-Objekt sein.',
  'The input of this tool cannot be edited.': 'Die Eingabe dieses Werkzeugs lässt sich nicht ändern.',
  'The input of a question cannot be edited, only answered.': 'Eine Frage lässt sich nicht ändern, nur beantworten.',
  'Permissions cannot be bypassed from here.': 'Von hier aus lassen sich die Fragen nicht abschalten.',
  'Answer the questions or decline them, not both.': 'Beantworte die Fragen, oder lehne sie ab, nicht beides.',
  'Answer the questions, or decline.': 'Beantworte die Fragen, oder lehne ab.',
  'Answer at least one question, or decline.': 'Beantworte mindestens eine Frage, oder lehne ab.',
  'The questions could not be read, so they can only be declined.':
    'Die Fragen ließen sich nicht lesen und können nur abgelehnt werden.',
  'Only a signed-in person can answer.': 'Nur wer angemeldet ist, kann antworten.',
  'Two people must approve this, so it is approved as it was asked, and no rule goes with it.':
    'Das müssen zwei erlauben, also so, wie es gefragt wurde, und ohne eine Regel dazu.',
  "The program does not speak Claude's protocol.": 'Das Programm spricht Claudes Protokoll nicht.',
  'A running session could not be told. It may go by this rule until its process ends.':
    'Eine laufende Sitzung ließ sich nicht erreichen. Für sie gilt die Regel vielleicht, bis ihr Prozess endet.',
  'A running session may work in this folder until you next approve something in it, or its process ends.':
    'Eine laufende Sitzung darf in diesem Ordner arbeiten, bis du darin wieder etwas erlaubst oder ihr Prozess endet.',
  'It was given to a Claude that sayso does not run, and holds there until that one ends.':
    'Sie wurde einem Claude gegeben, den sayso nicht startet, und gilt dort, bis er endet.',
  'Claude does not run here for this session: it holds what an agent elsewhere asks. Its questions can be answered.':
    'Für diese Sitzung läuft Claude nicht hier: Ein Agent anderswo fragt. Seine Fragen lassen sich beantworten.',
  'Claude takes this mode only when it starts. End the session first, then change its mode and resume it.':
    'Diesen Modus nimmt Claude nur beim Start an. Beende die Sitzung, ändere den Modus, und setze sie fort.',
  'This conversation runs in a terminal just now. End it there first, or fork it: a fork leaves the one in the terminal alone.':
    'Dieses Gespräch läuft gerade in einem Terminal. Beende es erst dort, oder zweige es ab: Das im Terminal bleibt dann, wie es ist.',
  'What was said earlier is too much to be shown here. Claude knows it all the same.':
    'Was früher gesagt wurde, ist zu viel, um es hier zu zeigen. Claude weiß es trotzdem.',
  'This server has no demo.': 'Dieser Server hat keine Demo.',
  "This name is kept for the token of the server's settings. Choose another one.":
    'Dieser Name ist für das Token der Server-Einstellungen bestimmt. Wähle einen anderen.',
  'The password is not valid text.': 'Das Passwort ist kein gültiger Text.',
  'A role is viewer, member or admin.': 'Eine Rolle ist Zusehen (viewer), Mitarbeit (member) oder Verwaltung (admin).',
  'This name mixes alphabets or has characters that cannot be told apart from others. Choose another one.':
    'Dieser Name mischt Alphabete oder enthält verwechselbare Zeichen. Wähle einen anderen.',
  'A reminder comes after 1 to 1440 minutes, or never.': 'Erinnert wird nach 1 bis 1440 Minuten, oder nie.',
  'A request goes on to others after 1 to 1440 minutes, or never.':
    'Eine Anfrage geht nach 1 bis 1440 Minuten an andere, oder nie.',
  'The time zone is not known. Give it as Europe/Berlin.':
    'Diese Zeitzone gibt es nicht. Gib sie an wie Europe/Berlin.',
  'A time is given as 22:00.': 'Eine Uhrzeit wird als 22:00 angegeben.',
  'The priority is from 1 to 5.': 'Die Dringlichkeit geht von 1 bis 5.',
  'There is no such way to be told.': 'Diesen Weg gibt es nicht.',
  'Another person started this session. Ask them or an admin to end it.':
    'Jemand anderes hat diese Sitzung gestartet. Bitte diese Person, oder wer verwaltet, sie zu beenden.',
  'Nobody may run sessions here that ask nobody. An admin can give this right in a project.':
    'Hier darf niemand Sitzungen starten, die niemanden fragen. Wer verwaltet, kann dieses Recht in einem Projekt geben.',
  'Give the project a name.': 'Gib dem Projekt einen Namen.',
  'One of the members is nobody here.': 'Jemand von den Mitgliedern ist hier nicht bekannt.',
  'One of the members is there twice.': 'Jemand von den Mitgliedern steht zweimal da.',
  'The role of a member is viewer, member or admin.':
    'Die Rolle eines Mitglieds ist Zusehen (viewer), Mitarbeit (member) oder Verwaltung (admin).',
  'This right is for members or for admins of the project.':
    'Dieses Recht haben die Mitglieder oder wer das Projekt verwaltet.',
  'One of the people is nobody here.': 'Jemand davon ist hier nicht bekannt.',
  'Name at least one folder. Sessions that work in it belong to the project.':
    'Nenne mindestens einen Ordner. Sitzungen, die darin arbeiten, gehören zum Projekt.',
  'A folder is an absolute path on the server.': 'Ein Ordner ist ein absoluter Pfad auf dem Server.',
  'The whole disk is no project: what is in no project is shared already.':
    'Die ganze Platte ist kein Projekt: Was in keinem Projekt ist, gehört schon allen.',
  'A question waits from 30 seconds to 15 minutes, for ever, or as long as the server says.':
    'Eine Frage wartet von 30 Sekunden bis 15 Minuten, für immer oder so lange, wie der Server es sagt.',
  'A limit is a number from 0 on; 0 is none.': 'Eine Grenze ist eine Zahl ab 0; 0 ist keine.',
  'Say in which folder Claude should work.': 'Sage, in welchem Ordner Claude arbeiten soll.',
  "The folder's name contains characters that cannot be in a path.":
    'Der Name des Ordners enthält Zeichen, die in keinem Pfad stehen können.',
  'Give the folder as an absolute path.': 'Gib den Ordner als absoluten Pfad an.',
  'Give the folder without .. in its path.': 'Gib den Ordner ohne .. in seinem Pfad an.',
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
/** Whose sessions a limit is about. */
const whose = (words: string) =>
  words
    .replace(/^All sessions of (.+) together$/s, 'Alle Sitzungen von $1 zusammen')
    .replace(/^The sessions of one person in (.+)$/s, 'Die Sitzungen einer Person in $1')

const roleOf = (name: string) =>
  (({ viewer: 'Zusehen', member: 'Mitarbeit', admin: 'Verwaltung' }) as Record<string, string>)[name] ?? name

const figure = (n: string) => n.replace('.', ',')
/** What an answer is made of, as a sentence begins. */
const part = (what: string) =>
  (({ 'The message': 'Die Nachricht' }) as Record<string, string>)[what] ??
  what.replace(/^The answer to “(.*)”$/s, 'Die Antwort auf „$1“')
/** What is approved, as a sentence begins. */
/** Wo etwas gilt. */
const REACH: Record<string, string> = {
  'every folder': 'jedem Ordner',
  'this folder and those around it': 'diesem Ordner und denen darum herum',
}
/** Eine Regel und für wen sie etwas behält. */
const ruleOf = (rule: string) =>
  rule
    .replace(/: nobody$/, ': niemand')
    .replace(/: two people$/, ': zwei Personen')
    .replace(/: two of /, ': zwei von ')
    .replace(/ and ([^,:]+)$/, ' und $1')
const things = (what: string) =>
  (({ commands: 'Befehle', 'changes of files': 'Änderungen an Dateien' }) as Record<string, string>)[what] ?? what
const API: Record<string, string> = {
  'The Claude API asks to slow down (429)': 'Die Claude-API bittet um langsamere Anfragen (429)',
  'The Claude API is overloaded (529)': 'Die Claude-API ist überlastet (529)',
  'The connection to the Claude API failed': 'Die Verbindung zur Claude-API ist fehlgeschlagen',
}

type Pattern = [RegExp, (...parts: string[]) => string]
const PATTERNS: Pattern[] = [
  // The line of a record: what was answered, without who did.
  [
    /^Approved(, edited)?(, with permissions)?$/,
    (edited, granted) => `Erlaubt${edited ? ', bearbeitet' : ''}${granted ? ', mit Regeln' : ''}`,
  ],
  [
    /^(Denied|Declined)( and stopped)?(?:: (.+))?$/s,
    (what, stopped, why) =>
      `${what === 'Denied' ? 'Abgelehnt' : 'Nicht beantwortet'}${stopped ? ' und unterbrochen' : ''}${why ? `: ${why}` : ''}`,
  ],
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
  [/^(.+) interrupted Claude\.$/s, (who) => `${who} hat Claude unterbrochen.`],
  [/^The turn was interrupted\.$/, () => 'Der Zug wurde unterbrochen.'],
  [/^It ran for (.+), the longest a process may\.$/, (d) => `Der Prozess lief ${span(d)}, länger darf keiner.`],
  [/^Nobody wrote for (.+)\.$/, (d) => `Niemand hat etwas geschrieben, ${span(d)} lang.`],
  [/^It gave no sign of life for (.+)\.$/, (d) => `Der Prozess gab kein Lebenszeichen, ${span(d)} lang.`],
  [
    /^The tool (.+) has been running since (.+) without a sign of life\.$/,
    (tool, at) => `Das Werkzeug ${tool} läuft seit ${at} ohne Lebenszeichen.`,
  ],
  [
    /^Waiting for the Claude API since (.+): it was not to be reached, and Claude tries again\.$/,
    (at) => `Seit ${at} wird auf die Claude-API gewartet: Sie war nicht erreichbar, und Claude versucht es wieder.`,
  ],
  [
    /^Waiting for the Claude API, which has sent nothing since (.+)\.$/,
    (at) => `Es wird auf die Claude-API gewartet, die seit ${at} nichts geschickt hat.`,
  ],
  [
    /^Claude has been silent since (.+), when its turn began\.$/,
    (at) => `Claude schweigt seit ${at}, seit sein Zug begann.`,
  ],
  [
    /^Claude has said nothing since (.+), and with all it runs it has grown from (.+) to (.+)\.$/,
    (at, a, b) =>
      `Claude hat seit ${at} nichts gesagt und ist mit allem, was es ausführt, von ${a} auf ${b} gewachsen.`,
  ],
  [
    /^Claude has not picked up the answer to (.+), which was delivered at (.+)\. If this lasts, kill the session and resume it\.$/,
    (tool, at) =>
      `Claude hat die Antwort zu ${tool} nicht aufgenommen, die um ${at} übergeben wurde. Bleibt es so, beende die Sitzung und setze sie fort.`,
  ],
  [
    /^([\w ]+) on (Linux|Windows|macOS|Android|ChromeOS|iPhone|iPad)$/,
    (browser, system) => `${browser} unter ${system}`,
  ],
  [
    /^Claude is not signed in on this server\. Run (.+) there once and sign in, or start sayso with ANTHROPIC_API_KEY set\.$/,
    (program) =>
      `Claude ist auf diesem Server nicht angemeldet. Führe dort einmal ${program} aus und melde dich an, oder starte sayso mit gesetztem ANTHROPIC_API_KEY.`,
  ],
  [/^There is no folder (.+) on the server\.$/, (path) => `Auf dem Server gibt es keinen Ordner ${path}.`],
  [/^The folder (.+) is not there any more\.$/, (path) => `Den Ordner ${path} gibt es nicht mehr.`],
  [/^There is no Claude CLI at (.+) any more\.$/, (path) => `Unter ${path} gibt es keine Claude-CLI mehr.`],
  [
    /^There is no Claude CLI at (.+)\. Correct the setting --claude, or install the CLI there\.$/,
    (path) =>
      `Unter ${path} gibt es keine Claude-CLI. Berichtige die Einstellung --claude, oder installiere die CLI dort.`,
  ],
  [
    /^Claude did not answer within (.+) after it was started\.(?: It said: (.+))?$/s,
    (d, said) => `Claude hat nach dem Start ${span(d)} lang nicht geantwortet.${words(said)}`,
  ],
  [
    /^The Claude process ended by itself(?: \((.+?)\))?\.(?: It said: (.+))?$/s,
    (how, said) => `Der Claude-Prozess endete von selbst${how ? ` (${how})` : ''}.${words(said)}`,
  ],
  [
    /^The Claude process ended while the server was away(?: \((.+?)\))?\.(?: It said: (.+))?$/s,
    (how, said) => `Der Claude-Prozess endete, während der Server weg war${how ? ` (${how})` : ''}.${words(said)}`,
  ],
  [
    /^Claude ended as soon as it was started(?: \((.+?)\))?\.(?: It said: (.+))?$/s,
    (how, said) => `Claude endete gleich nach dem Start${how ? ` (${how})` : ''}.${words(said)}`,
  ],
  [/^Claude could not be started: (.+)$/s, (why) => `Claude konnte nicht gestartet werden: ${why}`],
  [/^Passkeys belong to (\S+)\. Open sayso there\.$/, (at) => `Passkeys gehören zu ${at}. Öffne sayso dort.`],
  [
    /^Passkeys do not work at an address such as (\S+)\. To use one, open (\S+) instead\.$/,
    (ip, at) =>
      `Unter einer Adresse wie ${ip} gibt es keine Passkeys. Willst du einen benutzen, öffne stattdessen ${at}.`,
  ],
  [
    /^Passkeys do not work at an address such as (\S+)\. Give the server a name and start it with --public-url\.$/,
    (ip) =>
      `Unter einer Adresse wie ${ip} gibt es keine Passkeys. Gib dem Server einen Namen, und starte ihn mit --public-url.`,
  ],
  [
    /^Browsers have no passkeys for the name (\S+)\. It needs a domain, such as sayso\.example\.org\.$/,
    (name) => `Browser haben keine Passkeys für den Namen ${name}. Es braucht eine Domain, wie sayso.example.org.`,
  ],
  [
    /^It answered (\d+) ?(.*)\.$/,
    (status, words) => `Das Ziel hat mit ${status}${words ? ` (${words})` : ''} geantwortet.`,
  ],
  [
    /^(All sessions of .+ together|The sessions of one person in .+) may be (\d+) at once, and so many run\. End one .+ first\.$/s,
    (w, n) => `${whose(w)} dürfen ${n} zugleich sein, und so viele laufen. Beende erst eine davon.`,
  ],
  [
    /^(All sessions of .+ together|The sessions of one person in .+) may take (.+) of memory, and they take (.+)\. End one .+ first\.$/s,
    (w, most, now) => `${whose(w)} dürfen ${most} Speicher belegen, und sie belegen ${now}. Beende erst eine davon.`,
  ],
  [
    /^(All sessions of .+ together|The sessions of one person in .+) may cost (\S+) a day, and today they have cost (\S+)\. Claude goes on .+$/s,
    (w, most, now) =>
      `${whose(w)} dürfen am Tag ${most} kosten, und heute haben sie ${now} gekostet. Claude macht weiter, wenn um 00:00 UTC der nächste Tag beginnt oder jemand, der den Server verwaltet, die Grenze anhebt.`,
  ],
  [
    /^This needs the role (\w+)\. Ask an admin for it\.$/,
    (role) => `Dafür braucht es die Rolle ${roleOf(role)}. Bitte jemanden darum, der den Server verwaltet.`,
  ],
  [
    /^A password needs at least (\d+) characters\. .+$/,
    (n) =>
      `Ein Passwort braucht mindestens ${n} Zeichen. Gut sind ein paar Wörter, die mit niemandes Leben zu tun haben.`,
  ],
  [/^A password has at most (\d+) bytes\.$/, (n) => `Ein Passwort hat höchstens ${n} Byte.`],
  [
    /^A name has 1 to (\d+) bytes of letters, digits, spaces and signs\.$/,
    (n) => `Ein Name hat 1 bis ${n} Byte aus Buchstaben, Ziffern, Leerzeichen und Zeichen.`,
  ],
  [
    /^You have (\d+) passkeys, which is the most\. Remove one first\.$/,
    (n) => `Du hast ${n} Passkeys, mehr geht nicht. Entferne erst einen.`,
  ],
  [/^Give the passkey a name of 1 to (\d+) bytes\.$/, (n) => `Gib dem Passkey einen Namen von 1 bis ${n} Byte.`],
  [
    /^You have (\d+) templates of your own already\. Remove one first\.$/,
    (n) => `Du hast schon ${n} eigene Vorlagen. Entferne erst eine.`,
  ],
  [
    /^The attachments of one message may have (\d+) MB together\. .+$/,
    (n) =>
      `Die Anhänge einer Nachricht dürfen zusammen ${n} MB haben. Schicke einige davon in einer weiteren Nachricht.`,
  ],
  [/^“(.*)” is empty\.$/s, (name) => `„${name}“ ist leer.`],
  [
    /^“(.*)” has (\S+) MB; a file may have (\S+) MB\.$/s,
    (name, has, most) => `„${name}“ hat ${figure(has)} MB; eine Datei darf ${figure(most)} MB haben.`,
  ],
  [
    /^“(.*)” is (.+)\. Claude takes PNG, JPEG, GIF and WebP images, PDFs, and text in UTF-8\.$/s,
    (name) =>
      `„${name}“ ist nichts, was Claude liest. Claude nimmt Bilder (PNG, JPEG, GIF, WebP), PDFs und Text in UTF-8.`,
  ],
  [
    /^Entry (\d+) is the last that follows the one before it\.$/,
    (n) => `Eintrag ${n} ist der letzte, der zum vorigen passt.`,
  ],
  [
    /^The server (.+) drives it, and this one cannot reach it\. Look there\.$/s,
    (node) => `Der Server ${node} führt den Prozess, und dieser hier erreicht ihn nicht. Sieh dort nach.`,
  ],
  [
    /^(.+) has approved this, which takes effect in a moment\. You can still deny it\.$/s,
    (who) => `${who} hat das erlaubt; es gilt gleich. Du kannst es noch ablehnen.`,
  ],
  [
    /^(.+) has denied this, which takes effect in a moment\. Nobody else can answer it meanwhile\.$/s,
    (who) => `${who} hat das abgelehnt; es gilt gleich. Solange kann niemand sonst antworten.`,
  ],
  [/^The edited input is larger than (\d+) MB\.$/, (n) => `Die geänderte Eingabe ist größer als ${n} MB.`],
  [/^The edited input cannot be read: (.+)\.$/s, (why) => `Die geänderte Eingabe lässt sich nicht lesen: ${why}.`],
  [
    /^The edited input has the field “(.*)”, which was not asked for\.$/s,
    (field) => `Die geänderte Eingabe hat das Feld „${field}“, nach dem nicht gefragt wurde.`,
  ],
  [
    /^The input of this tool cannot be edited: (.+)\.$/s,
    (why) => `Die Eingabe dieses Werkzeugs lässt sich nicht ändern: ${why}.`,
  ],
  [
    /^There are (\d+) permissions, but at most (\d+) can be granted at once\.$/,
    (n, most) => `Das sind ${n} Regeln, höchstens ${most} gehen auf einmal.`,
  ],
  [
    /^Permission (\d+) was not offered with this request\.$/,
    (n) => `Regel ${n} wurde mit dieser Anfrage nicht angeboten.`,
  ],
  [/^“(.*)” needs an answer\.$/s, (q) => `„${q}“ braucht eine Antwort.`],
  [/^“(.*)” is answered twice\.$/s, (q) => `„${q}“ ist zweimal beantwortet.`],
  [
    /^“(.*)” has no options to choose from; answer with a text\.$/s,
    (q) => `„${q}“ hat keine Auswahl; antworte mit einem Text.`,
  ],
  [/^“(.*)” takes yes or no\.$/s, (q) => `„${q}“ nimmt Ja oder Nein.`],
  [
    /^“(.*)” cannot be shown, so the questions can only be declined\.$/s,
    (q) => `„${q}“ lässt sich nicht zeigen, also können die Fragen nur abgelehnt werden.`,
  ],
  [/^“(.*)” is not an option of “(.*)”\.$/s, (o, q) => `„${o}“ gehört nicht zur Auswahl von „${q}“.`],
  [/^“(.*)” is chosen twice in “(.*)”\.$/s, (o, q) => `„${o}“ ist in „${q}“ zweimal gewählt.`],
  [/^“(.*)” takes one option only\.$/s, (q) => `„${q}“ nimmt nur eine Auswahl.`],
  [
    /^“(.*)” takes an option or a text of your own, not both\.$/s,
    (q) => `„${q}“ nimmt eine Auswahl oder einen eigenen Text, nicht beides.`,
  ],
  [/^(.+) is longer than (\d+) kB\.$/s, (what, n) => `${part(what)} ist länger als ${n} kB.`],
  [/^(.+) holds characters that are not text\.$/s, (what) => `${part(what)} enthält Zeichen, die kein Text sind.`],
  [/^“(.*)” takes (.+)\.$/s, (q) => `Die Antwort auf „${q}“ passt nicht zu dem, was gefragt ist.`],
  [
    /^The rule could not be taken out of a settings file, so it holds on: (.+)\.$/s,
    (why) => `Die Regel ließ sich nicht aus einer Einstellungsdatei nehmen und gilt weiter: ${why}.`,
  ],
  [/^(.+) could not be read: (.+)\.$/s, (file, why) => `${file} ließ sich nicht lesen: ${why}.`],
  [
    /^The Claude CLI at (.+) is not executable\. Make it so with: (.+)$/s,
    (path, how) => `Die Claude-CLI unter ${path} ist nicht ausführbar. Mache sie es mit: ${how}`,
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
    (said) => `Das Programm spricht Claudes Protokoll nicht.${words(said)}`,
  ],
  [
    /^Claude did not start properly: (.+?)\.(?: It said: (.+))?$/s,
    (why, said) => `Claude ist nicht richtig gestartet: ${why}.${words(said)}`,
  ],
  [
    /^Claude may not enter (.+): it runs as the user (.+) here\.$/s,
    (path, user) => `Claude darf nicht in ${path}: Es läuft hier mit dem Konto ${user}.`,
  ],
  [
    /^(.+) is outside the folders that this server may work in(?: now)? \((.*)\)\.$/s,
    (path, roots) => `${path} liegt außerhalb der Ordner, in denen dieser Server arbeiten darf (${roots}).`,
  ],
  [
    /^Give the folder as an absolute path; (.+) is not one\.$/s,
    (path) => `Gib den Ordner als absoluten Pfad an; ${path} ist keiner.`,
  ],
  [/^(.+) is not a folder\.$/s, (path) => `${path} ist kein Ordner.`],
  [/^The permission mode is one of (.+)\.$/s, (list) => `Der Berechtigungsmodus ist einer von ${list}.`],
  [
    /^The settings of (.+) have changed since they were trusted\. .+$/s,
    (path) =>
      `Die Einstellungen von ${path} sind nicht mehr die, denen vertraut wurde. Sieh dir an, was sie ausführen würden, und starte noch einmal.`,
  ],
  [
    /^The folder (.+) has settings that would run programs or change what Claude may do\. .+$/s,
    (path) =>
      `Der Ordner ${path} hat Einstellungen, die Programme ausführen oder ändern würden, was Claude darf. Sieh sie dir an, und starte noch einmal.`,
  ],
  [
    /^It cannot be told what the settings of (.+) would run, so Claude is not started there: (.+)\.$/s,
    (path, why) =>
      `Was die Einstellungen von ${path} ausführen würden, lässt sich nicht sagen, also startet Claude dort nicht: ${why}.`,
  ],
  [
    /^(.+)\. Trying again in (\d+) s \(attempt (\d+) of (\d+)\)\.$/s,
    (why, s, n, all) =>
      `${API[why] ?? why.replace(/^The Claude API answered with an error \((\d+)\)$/, 'Die Claude-API hat mit einem Fehler geantwortet ($1)')}. Neuer Versuch in ${s} s (${n} von ${all}).`,
  ],
  [
    /^Only (.+) may (start sessions|answer) in (.+)\.$/s,
    (who, what, where) =>
      `In ${where} ${what === 'answer' ? 'antwortet' : 'startet'} nur ${who}${what === 'answer' ? '' : ' Sitzungen'}.`,
  ],
  [
    /^Only (.+) may run sessions in (.+) that ask nobody\.$/s,
    (who, where) => `Sitzungen, die niemanden fragen, startet in ${where} nur ${who}.`,
  ],
  [/^Only (.+) may approve (.+) in (.+)\.$/s, (who, what, where) => `${things(what)} erlaubt in ${where} nur ${who}.`],
  [
    /^The rules of (.+) let nobody approve this\. It can only be denied\.$/s,
    (where) => `Nach den Regeln von ${where} darf das niemand erlauben. Es lässt sich nur ablehnen.`,
  ],
  [
    /^This cannot be read to its end, so the strictest rule of (.+) decides: nobody may approve it\. .+$/s,
    (where) =>
      `Das lässt sich nicht bis zum Ende lesen, also gilt die strengste Regel von ${where}: Niemand darf es erlauben. Lehne es ab, und lass Claude es einfacher schreiben.`,
  ],
  [
    /^A rule of (.+) says who may approve (.+) \((.+)\), so Claude asks each time\. .+$/s,
    (where, what, rule) =>
      `Eine Regel von ${where} sagt, wer das erlaubt: ${things(what)} (${ruleOf(rule)}). Deshalb fragt Claude jedes Mal. Wähle den Modus, der fragt, und erlaube nichts im Voraus.`,
  ],
  [
    /^This would hold in (.+?), also in a project whose rules say who may approve (.+)\. Allow it for this session only\.$/s,
    (reach, what) =>
      `Das würde in ${REACH[reach] ?? reach} gelten, auch in einem Projekt, dessen Regeln sagen, wer das erlaubt: ${things(what)}. Erlaube es nur für diese Sitzung.`,
  ],
  [
    /^This would hold in (.+?), also in (.+), where a rule says who may approve (.+) \((.+)\)\. Allow it for this session only\.$/s,
    (reach, where, what, rule) =>
      `Das würde in ${REACH[reach] ?? reach} gelten, auch in ${where}, wo eine Regel sagt, wer das erlaubt: ${things(what)} (${ruleOf(rule)}). Erlaube es nur für diese Sitzung.`,
  ],
  [
    /^The rules of (.+) say who may approve this\.$/s,
    (where) => `Die Regeln von ${where} sagen, wer das erlauben darf.`,
  ],
  [
    /^(.+) made or reset your password, a token or another way to sign in as you, so this does not count .+$/s,
    (who) =>
      `${who} hat dein Passwort, ein Token oder einen anderen Weg, sich als du anzumelden, angelegt oder zurückgesetzt. Deshalb zählt das nicht als zweite Zustimmung. Frag eine andere Person, oder stimme noch einmal zu, wenn das einen Tag her ist und kein solches Token mehr gilt.`,
  ],
  [
    /^You made or reset the password, a token or another way to sign in as (.+), who approved first, so this does not count .+$/s,
    (who) =>
      `Du hast das Passwort, ein Token oder einen anderen Weg, sich als ${who} anzumelden, angelegt oder zurückgesetzt, und ${who} hat zuerst zugestimmt. Deshalb zählt das nicht als zweite Zustimmung. Frag eine andere Person, oder stimme noch einmal zu, wenn das einen Tag her ist und kein solches Token mehr gilt.`,
  ],
  [
    /^Whoever made this token also made a way to sign in as (.+), who approved first, so this does not count .+$/s,
    (who) =>
      `Wer dieses Token angelegt hat, hat auch einen Weg angelegt, sich als ${who} anzumelden, und ${who} hat zuerst zugestimmt. Deshalb zählt das nicht als zweite Zustimmung. Frag eine andere Person, oder stimme noch einmal zu, wenn das einen Tag her ist und kein solches Token mehr gilt.`,
  ],
  [
    /^This needs the role (\w+) in (.+)\. Ask an admin of the project for it\.$/s,
    (role, where) =>
      `Dafür braucht es die Rolle ${roleOf(role)} in ${where}. Bitte jemanden darum, der das Projekt verwaltet.`,
  ],
  [
    /^The name may have (\d+) characters and no line breaks\.$/,
    (n) => `Der Name darf ${n} Zeichen haben und keinen Zeilenumbruch.`,
  ],
  [
    /^A project may have (\d+) (members|rules|folders)\.$/,
    (n, what) =>
      `Ein Projekt darf ${n} ${({ members: 'Mitglieder', rules: 'Regeln', folders: 'Ordner' } as Record<string, string>)[what]!} haben.`,
  ],
  [/^Rule (\d+) names no tool\. Write \* for all\.$/, (n) => `Regel ${n} nennt kein Werkzeug. Schreibe * für alle.`],
  [/^Rule (\d+) is too long\.$/, (n) => `Regel ${n} ist zu lang.`],
  [
    /^Rule (\d+) must allow, deny or ask for two people\.$/,
    (n) => `Regel ${n} muss erlauben, ablehnen oder nach zweien fragen.`,
  ],
  [
    /^Rule (\d+) lets nobody approve, so it names nobody\.$/,
    (n) => `Regel ${n} lässt niemanden erlauben, also nennt sie niemanden.`,
  ],
  [/^Rule (\d+) wants two people and names one\.$/, (n) => `Regel ${n} will zwei Personen und nennt eine.`],
  [/^Rule (\d+) names somebody who is nobody here\.$/, (n) => `Regel ${n} nennt jemanden, den es hier nicht gibt.`],
  [/^The folder (.+) is there twice\.$/s, (path) => `Der Ordner ${path} steht zweimal da.`],
  [/^A person, to answer (.+)\.$/s, (what) => `Auf eine Antwort: ${what.replace(/ requests$/, ' Anfragen')}.`],
  [
    /^The identity provider knows this server as (.+)\. Open sayso there\.$/s,
    (at) => `Der Anmeldedienst kennt diesen Server als ${at}. Öffne sayso dort.`,
  ],
]
const words = (said: string | undefined) => (said ? ` Er sagte: ${said}` : '')

/** By the code of a refusal, for sentences that are not known. */
export const CODES: Record<string, string> = {
  access_changed: 'Was du hier sehen darfst, wurde geändert.',
  already_resolved: 'Jemand war schneller.',
  not_independent: 'Das zählt nicht als zweite Zustimmung. Frag eine andere Person.',
  another_needed: 'Du hast zugestimmt. Noch eine Person muss auch zustimmen.',
  bad_request: 'Der Server versteht diese Anfrage nicht.',
  begun_by_another: 'Das hat jemand anderes begonnen, oder eine andere Anmeldung. Beginne es in deinem Konto von vorn.',
  begin_again:
    'Das dauerte zu lange, oder es wurde in einem anderen Browser oder vor einem Neustart des Servers begonnen. Versuche es noch einmal.',
  busy: 'Andere große Nachrichten und Dateien kommen gerade an. Versuche es gleich noch einmal.',
  cannot_extend: 'Die Frist dieser Frage kann nicht verlängert werden.',
  changed: 'Jemand hat das inzwischen geändert. Nichts wurde getan; sieh noch einmal nach.',
  disabled: 'Diese Person ist ausgesperrt. Lass sie erst wieder zu.',
  exists: 'Das gibt es schon.',
  folder_taken: 'Einer dieser Ordner gehört zu einem anderen Projekt. Ein Ordner darin kann ein eigenes Projekt sein.',
  folder_untrusted:
    'Niemand hat den Einstellungen dieses Ordners so vertraut, wie sie jetzt sind. Claude wurde nicht gestartet.',
  forbidden: 'Das darfst du nicht.',
  internal: 'Auf dem Server ging etwas schief. Versuche es wieder; mehr steht in seinem Protokoll.',
  invalid: 'Diese Eingabe nimmt der Server nicht an.',
  invalid_answer: 'Diese Antwort nimmt der Server nicht an.',
  invalid_attachment: 'Diese Datei nimmt der Server nicht an.',
  limit_reached: 'Eine Grenze ist erreicht. Beende erst eine Sitzung.',
  method_not_allowed: 'Diese Adresse kann das nicht.',
  no_oidc_here: 'Der Anmeldedienst kennt diesen Server unter einer anderen Adresse. Öffne sayso dort.',
  no_role:
    'Du hast dich angemeldet, aber nichts dort gibt dir hier eine Rolle. Frage jemanden, der den Server verwaltet, welche Gruppe du brauchst.',
  oidc_invalid:
    'Was der Anmeldedienst über dich sagt, ließ sich nicht prüfen, deshalb wurdest du nicht angemeldet. Versuche es noch einmal; bleibt es so, muss jemand, der den Server verwaltet, in sein Protokoll sehen.',
  oidc_refused:
    'Der Anmeldedienst hat diese Anmeldung nicht bestätigt. Versuche es noch einmal; bleibt es so, muss jemand, der den Server verwaltet, in sein Protokoll sehen.',
  oidc_unreachable: 'Der Anmeldedienst ist gerade nicht erreichbar. Versuche es später, oder melde dich anders an.',
  shut_out: 'Du bist von diesem Server ausgesperrt. Frage jemanden, der ihn verwaltet.',
  no_passkeys_here: 'Unter dieser Adresse gibt es keine Passkeys.',
  no_attachment: 'Diese Datei liegt nicht mehr auf dem Server. Hänge sie noch einmal an.',
  held: 'Jemand hat das schon entschieden; es gilt gleich. Solange kann niemand sonst antworten.',
  taken_back: 'Du hast diese Antwort zurückgenommen, sie wurde nicht gesendet. Entscheide neu.',
  nothing_held: 'Es gibt keine Antwort von dir, die du zurücknehmen könntest.',
  not_approved: 'Es gibt keine Zustimmung von dir, die du zurücknehmen könntest.',
  not_by_proxy: 'Dieser Server ist nur über seinen Proxy erreichbar. Öffne ihn unter seiner öffentlichen Adresse.',
  not_in_a_batch: 'Claude Code verlangt, dass das für sich entschieden wird. Öffne es, und entscheide dort.',
  two_cookies:
    'Dein Browser hat zwei Anmelde-Cookies geschickt, deshalb wurde die Anfrage abgelehnt. Lösche die Cookies dieser Adresse und melde dich neu an.',
  other_person:
    'Jemand anderes hat das geantwortet oder geschrieben, bevor du dich angemeldet hast. Es wurde nicht verwendet.',
  not_low_risk:
    'Das hat kein geringes Risiko und lässt sich nicht mit anderen zugleich erlauben. Öffne es, und entscheide darüber für sich.',
  not_one_batch:
    'Nur Anfragen desselben Werkzeugs lassen sich zugleich erlauben, höchstens 20, jede einmal genannt. Öffne diese, und entscheide darüber für sich.',
  not_found: 'Das gibt es nicht, oder du darfst es nicht sehen.',
  not_ours: 'Claude läuft für diese Sitzung nicht hier. Ihre Fragen können beantwortet werden.',
  not_queued: 'Diese Nachricht wartet nicht mehr: Claude hat sie, oder jemand hat sie zurückgezogen.',
  not_running: 'In dieser Sitzung läuft Claude nicht. Schicke eine Nachricht, oder setze sie erst fort.',
  not_set_up:
    'Dieser Server ist noch nicht eingerichtet. Öffne seine Anmeldeadresse auf dem Rechner, auf dem er läuft.',
  not_signed_in: 'Du bist nicht angemeldet. Melde dich an.',
  old_protocol: 'Diese Seite ist zu alt. Lade sie neu.',
  passkey_copied:
    'Dieser Passkey wurde abgelehnt: Er zählt rückwärts, wie es eine Kopie täte. Melde dich anders an, entferne ihn, und erstelle einen neuen.',
  running: 'In dieser Sitzung läuft Claude schon.',
  secret_in_url: 'Zugangsdaten dürfen nicht in einer Adresse stehen.',
  stale: 'Diese Anfrage ist nicht mehr offen. Nichts wurde gesendet.',
  too_large: 'Das ist größer, als hier angenommen wird.',
  too_many_attempts:
    'Zu viele Fehlversuche von deiner Adresse oder bei diesem Konto. Warte ein wenig, und versuche es dann wieder.',
  unavailable: 'Der Server kann gerade nichts speichern. Nichts wurde geändert; versuche es gleich wieder.',
  unknown_type: 'Der Server kennt diesen Befehl nicht.',
  unsupported_media_type: 'Diese Art von Inhalt nimmt der Server nicht an.',
  upgrade_required: 'Diese Adresse ist für WebSockets.',
  wrong_host:
    'Unter diesem Namen ist der Server nicht bekannt. Nimm eine andere Adresse, oder erlaube den Namen mit --allowed-host.',
  wrong_origin:
    'Eine andere Seite hat das geschickt, deshalb wurde es abgelehnt. Öffne sayso unter seiner eigenen Adresse.',
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

import type { errors } from '@/wire/errors.gen'
import type { Reason } from '@/wire/messages.gen'
import { decimal, list } from './format'
import { own } from './messages.en'
import { statementsInGerman } from './statements.de'

/** The German text of every error of the server, by its reason. */
export const german: Record<keyof typeof errors, string> = {
  access_changed: 'Deine Zugriffsrechte haben sich geändert.',
  alert_unknown: 'Die Benachrichtigung „{occasion}“ gibt es nicht.',
  already_linked: 'Dein Konto ist dort schon verknüpft. Hebe diese Verknüpfung zuerst auf.',
  already_resolved: 'Diese Anfrage ist nicht mehr offen. Deine Antwort wurde nicht gesendet.',
  another_needed: 'Du hast das genehmigt. Noch eine Person muss es genehmigen.',
  answer_decision_missing: 'Die Antwort muss allow oder deny enthalten.',
  answer_decision_unknown: 'Die Entscheidung ist „{decision}“. Möglich sind allow und deny.',
  answer_input_without_allow: 'Nur eine Genehmigung kann eine bearbeitete Eingabe haben.',
  answer_interrupt_without_deny: 'Nur eine Ablehnung kann die Runde beenden.',
  answer_message_without_deny: 'Nur eine Ablehnung kann eine Nachricht haben.',
  answer_missing: 'Beantworte die Fragen oder wähle „Nicht antworten“.',
  answer_needs_person: 'Nur angemeldete Personen können antworten.',
  answer_no_question: 'Hier gibt es keine Frage. Genehmige das Werkzeug oder lehne es ab.',
  answer_none: 'Beantworte mindestens eine Frage oder wähle „Nicht antworten“.',
  answer_not_text: 'Die Antwort auf „{question}“ enthält ungültige Zeichen.',
  answer_restricted: 'In {project} können nur diese Personen antworten: {people}.',
  answer_rules_refused: 'Claude Code lässt bei dieser Genehmigung keine Regel zu. Genehmige sie einmal.',
  answer_rules_without_allow: 'Nur eine Genehmigung kann Berechtigungsregeln haben.',
  answer_too_long: 'Die Antwort auf „{question}“ ist länger als {max} kB.',
  answer_twice: 'Beantworte die Fragen oder wähle „Nicht antworten“, nicht beides.',
  answer_type: 'Die Antwort ist vom Typ „{got}“, die Anfrage vom Typ „{want}“.',
  answer_type_unknown: 'Anfragen vom Typ „{type}“ lassen sich nicht beantworten.',
  approve_not_allowed: 'Nach den Regeln von {project} kann das niemand genehmigen. Lehne es ab.',
  approve_restricted: 'In {project} können nur diese Personen {tool} genehmigen: {people}.',
  approve_unreadable:
    'Das lässt sich nicht vollständig analysieren. Deshalb gilt die strengste Regel von {project}: Niemand kann es genehmigen. Lehne es ab und lass Claude es einfacher schreiben.',
  approver_resets_you:
    '{person} hat dein Passwort, ein Token oder eine andere Anmeldemöglichkeit für dein Konto erstellt oder zurückgesetzt. Deshalb ist das keine zweite Genehmigung. Frage eine andere Person oder genehmige nach einem Tag noch einmal, sobald es kein solches Token mehr gibt.',
  ask_timeout_range:
    'Eine Frage wartet 30 Sekunden bis 15 Minuten, unbegrenzt oder so lange wie der Standard des Servers.',
  attachment_empty: '„{name}“ ist leer.',
  attachment_too_large: '„{name}“ hat {size} MB. Eine Datei darf bis zu {max} MB haben.',
  attachment_type:
    '„{name}“ lässt sich nicht anhängen. Claude liest Bilder (PNG, JPEG, GIF, WebP), PDFs und Text in UTF-8.',
  attachments_off: 'Dieser Server nimmt keine Anhänge an.',
  attachments_too_large:
    'Die Anhänge einer Nachricht dürfen zusammen bis zu {max} MB haben. Sende einige in einer weiteren Nachricht.',
  batch_decision:
    'Eine Sammelantwort kann Werkzeuge nur unverändert und einmal genehmigen. Beantworte diese Anfrage einzeln.',
  batch_together: 'Das Feld „together“ braucht „batch“.',
  begin_again:
    'Das hat zu lange gedauert, oder es wurde in einem anderen Browser oder vor einem Neustart des Servers begonnen. Versuche es noch einmal.',
  begun_by_another: 'Ein anderes Konto oder eine andere Anmeldung hat das gestartet. Starte in deinem Konto neu.',
  body_incomplete: 'Die Anfrage kam nicht vollständig an.',
  body_not_json: 'Die Anfrage ist kein gültiges JSON.',
  body_not_object: 'Die Anfrage muss ein JSON-Objekt sein.',
  body_not_utf8: 'Die Anfrage ist kein gültiges UTF-8.',
  body_too_deep: 'Das JSON ist tiefer als {max} Ebenen verschachtelt.',
  body_too_large: 'Die Anfrage ist größer als {max} KB.',
  body_trailing: 'Nach dem JSON-Objekt folgen weitere Daten.',
  body_truncated: 'Das JSON endet zu früh.',
  browser_only: 'Das geht nur in einem angemeldeten Browser, nicht mit einem API-Token.',
  busy: 'Der Server empfängt gerade andere große Nachrichten und Dateien. Versuche es gleich noch einmal.',
  bypass_not_allowed:
    'Hier kann niemand Sitzungen ausführen, die Genehmigungen umgehen. Ein Admin kann dieses Recht in einem Projekt geben.',
  bypass_restricted: 'In {project} können nur diese Personen Sitzungen ausführen, die Genehmigungen umgehen: {people}.',
  cannot_store: 'Der Server kann gerade nichts speichern. Nichts wurde geändert. Versuche es gleich noch einmal.',
  cannot_unlink: 'Dein Konto und seine Rolle kommen von dort. Die Verknüpfung lässt sich nicht aufheben.',
  changed: 'Jemand anderes hat das geändert. Nichts wurde gespeichert. Prüfe es noch einmal.',
  channel_unknown: 'Benachrichtigungsziele der Art „{channel}“ gibt es nicht.',
  claude_starting: 'Claude startet gerade. Versuche es gleich noch einmal.',
  claude_unanswered: 'Claude hat nicht rechtzeitig geantwortet. Versuche es noch einmal.',
  command_id: 'Ein Befehl braucht eine command_id, die eine UUID ist.',
  commit_conflict: '{path} hat Merge-Konflikte. Löse sie, bevor du committest.',
  commit_message_invalid: 'Die Commit-Nachricht ist zu lang oder enthält ungültige Zeichen.',
  commit_message_missing: 'Gib eine Commit-Nachricht ein.',
  commit_no_identity:
    'Git weiß nicht, wer hier committet. Setze user.name und user.email für den Benutzer, als der Claude läuft.',
  commit_nothing: 'Wähle mindestens eine geänderte Datei.',
  context_unreported: 'Diese Version von Claude Code meldet nicht, was den Kontext füllt.',
  cursor_unknown: 'Diese Position in der Liste ist ungültig. Lade die Liste von vorn.',
  database_down: 'Die Datenbank antwortet nicht.',
  deadline_at_maximum: 'Diese Frist lässt sich nicht weiter verlängern.',
  different_options: 'Die Felder „answer“ und „selectedOptions“ nennen verschiedene Optionen.',
  disabled: 'Dieser Benutzer ist deaktiviert. Aktiviere ihn zuerst.',
  disk_broken:
    'Die Festplatte der Datenbank ist ausgefallen. Das wurde möglicherweise nicht gespeichert. Prüfe es, sobald der Server neu gestartet ist.',
  disk_full:
    'Die Festplatte des Servers ist voll oder schreibgeschützt. Nichts wurde geändert. Versuche es noch einmal, sobald Platz ist.',
  draft_too_long:
    'Dieser Entwurf ist zu lang für die Synchronisierung mit deinen anderen Geräten. Auf diesem Gerät bleibt er erhalten.',
  end_not_allowed: 'Jemand anderes hat diese Sitzung gestartet. Bitte diese Person oder einen Admin, sie zu beenden.',
  entry_number: 'Die Nummer eines Eintrags kann nicht negativ sein.',
  escalation_range: 'Eine Anfrage geht nach 1 bis 1440 Minuten an andere oder nie.',
  field_base64: 'Das Feld „{name}“ muss Base64-Text sein.',
  field_conflict: 'Das Feld „{name}“ passt nicht zu den anderen.',
  field_equal: 'Das Feld „{name}“ muss „{value}“ sein.',
  field_holds_null: 'Das Feld „{name}“ darf kein null enthalten.',
  field_invalid: 'Das Feld „{name}“ ist ungültig.',
  field_missing: 'Das Feld „{name}“ fehlt.',
  field_null: 'Das Feld „{name}“ darf nicht null sein.',
  field_one_of: 'Das Feld „{name}“ muss eines von diesen sein: {values}.',
  field_too_large: 'Das Feld „{name}“ ist zu groß.',
  field_too_long: 'Das Feld „{name}“ ist zu lang.',
  field_too_small: 'Das Feld „{name}“ ist zu klein.',
  field_twice: 'Das Feld „{name}“ ist mehrfach vorhanden.',
  field_type: 'Das Feld „{name}“ darf nicht vom Typ {type} sein.',
  field_unknown: 'Das Feld „{name}“ ist unbekannt.',
  field_uuid: 'Das Feld „{name}“ muss eine UUID sein.',
  file_changed: 'Diese Datei hat sich geändert, seit du sie geöffnet hast. Prüfe sie und versuche es dann noch einmal.',
  file_filtered: '{path} verwendet den Git-Filter {filter}, den sayso nicht ausführt. Mach das in einem Terminal.',
  file_not_shown: 'Diese Datei ist nicht lesbar. Sie fehlt, ist zu groß, ein Link oder keine normale Datei.',
  file_unchanged: 'Diese Datei hat keine Änderungen ohne Commit. Prüfe die Liste noch einmal.',
  folder_changed_settings:
    'Die Einstellungen von {folder} haben sich geändert, seit ihnen vertraut wurde. Prüfe sie und starte dann noch einmal.',
  folder_characters: 'Der Name des Ordners enthält Zeichen, die in einem Pfad nicht möglich sind.',
  folder_dots: 'Gib den Ordner ohne .. in seinem Pfad an.',
  folder_missing: 'Wähle den Ordner, in dem Claude arbeiten soll.',
  folder_never_loaded:
    'Die Maschine lädt die Einstellungen von {folder} nicht. Starte ohne sie oder trage den Ordner dort in trusted-folder ein.',
  folder_new_settings:
    'Der Ordner {folder} hat Einstellungen, die Programme ausführen oder ändern, was Claude tun kann. Prüfe sie und starte dann noch einmal.',
  folder_no_access: 'Claude hat keinen Zugriff auf {folder}. Es läuft hier als Benutzer {user}.',
  folder_no_home: 'Gib den Ordner als absoluten Pfad an.',
  folder_not_a_folder: '„{folder}“ ist kein Ordner.',
  folder_not_absolute: 'Gib den Ordner als absoluten Pfad an. {folder} ist keiner.',
  folder_not_found: 'Auf dem Server gibt es keinen Ordner {folder}.',
  folder_not_trusted: 'Dieses Vertrauen gibt es nicht mehr. Prüfe die Liste noch einmal.',
  folder_outside: 'Der Ordner {folder} ist außerhalb der Ordner, die dieser Server verwenden kann ({roots}).',
  folder_taken: 'Einer dieser Ordner gehört zu einem anderen Projekt. Ein Ordner darin kann ein eigenes Projekt sein.',
  folder_unreadable_settings:
    'Die Einstellungen von {folder} lassen sich nicht prüfen. Deshalb wurde Claude dort nicht gestartet: {detail}.',
  fork_empty: 'Es gibt nichts abzuzweigen: Claude hat in dieser Sitzung noch nicht geantwortet.',
  git_busy: 'In diesem Ordner läuft gerade ein anderer Git-Befehl. Versuche es noch einmal.',
  git_failed: 'Git ist fehlgeschlagen: {detail}.',
  runner_lost:
    'Die Verbindung zur Maschine ist abgebrochen. Prüfe vor einem neuen Versuch, ob eine Änderung schon angekommen ist.',
  runner_name_invalid: 'Gib der Maschine einen Namen mit bis zu {max} Zeichen.',
  runner_name_taken: 'Es gibt schon eine Maschine mit diesem Namen.',
  runner_unknown: 'Diese Maschine gibt es nicht.',
  runner_not_connected:
    '{runner} ist gerade nicht erreichbar. Starte die Sitzung auf einer anderen Maschine oder versuche es später noch einmal.',
  runner_full: 'Auf der Maschine dieser Sitzung laufen schon {max} Sitzungen, mehr sind nicht erlaubt.',
  runner_draining: '{runner} läuft aus und startet keine Sitzungen. Ein Admin kann das ändern.',
  runner_labels_unknown: 'Keine Maschine hat die Labels {labels}.',
  runner_labels_invalid: 'Gib bis zu {max} Labels ohne Leerzeichen und Kommas ein, jedes mit bis zu {size} Zeichen.',
  runner_none_connected:
    'Keine Maschine ist verbunden, darum kann keine Sitzung starten. docs/operating/runners.md erklärt, wie du eine verbindest.',
  runner_required: 'Dieser Server startet selbst keine Sitzungen. Wähle eine Maschine.',
  runner_in_use: '{runner} ist ein Server, der läuft. Stoppe den Server, bevor du ihn entfernst.',
  runner_none_free:
    'Keine Maschine kann diese Sitzung gerade starten. Prüfe, welche verbunden sind und freie Kapazität haben.',
  runner_change_one: 'Ändere Namen, Labels und Verwendung einer Maschine einzeln.',
  grant_runner_unreachable:
    'Das wurde auf {runner} erlaubt und die Maschine ist nicht erreichbar. Widerrufe es, wenn sie zurück ist.',
  runner_paused: '{runner} ist pausiert und nimmt keine neuen Sitzungen an. Ein Admin kann das ändern.',
  runner_unreachable:
    'Diese Sitzung läuft auf {runner} und ist nicht erreichbar. Deine Antworten warten, bis sich das ändert.',
  worktree_no_repository:
    'Hier ist kein Worktree möglich. Der Ordner braucht ein Git-Repository in den Ordnern, die du sehen kannst.',
  worktree_exists: 'Es gibt schon einen Ordner {path}. Wähle einen anderen Branch-Namen.',
  worktree_hidden: 'Hier ist kein Worktree möglich. Das Repository enthält Ordner, die du nicht sehen kannst.',
  worktree_folder_missing: 'In {branch} gibt es keinen Ordner {folder}.',
  worktree_repositories:
    'In {path} ist ein anderes Git-Repository, dessen Inhalt nicht aufbewahrt werden kann. Nichts wurde entfernt. Entferne es in einem Terminal.',
  worktree_missing: 'Dieser Ordner ist kein Worktree, den sayso angelegt hat.',
  worktree_uncommitted: 'Im Worktree sind Änderungen ohne Commit. Committe oder verwirf sie und merge dann.',
  worktree_merged: 'Es gibt nichts zu mergen.',
  worktree_conflicts:
    'Der Branch hat Konflikte mit {branch} in {files}. Nichts wurde gemergt. Merge {branch} in den Worktree und löse die Konflikte dort.',
  worktree_base_changed:
    'Änderungen ohne Commit im Ordner von {branch} würden überschrieben. Nichts wurde gemergt. Committe sie dort zuerst.',
  worktree_base_elsewhere: '{branch} ist in einem anderen Worktree ausgecheckt. Nichts wurde gemergt. Merge dort.',
  worktree_changed: 'Der Worktree hat sich geändert, seit du ihn geöffnet hast. Prüfe ihn noch einmal.',
  worktree_in_use: 'Claude läuft in diesem Worktree. Beende zuerst seine Sitzungen.',
  branch_invalid:
    'Gib einen Branch-Namen aus Buchstaben, Ziffern, Punkten, Schrägstrichen, Unter- und Bindestrichen ein.',
  branch_missing: 'Es gibt keinen Branch {branch}.',
  branch_exists: 'Es gibt schon einen Branch {branch}.',
  git_missing: 'Auf dem Server ist Git nicht installiert.',
  rewind_in_turn:
    'Claude arbeitet gerade. Warte, bis du dran bist, oder unterbrich Claude, bevor du Dateien wiederherstellst.',
  rewind_unknown_message: 'Diese Nachricht gibt es in der Sitzung nicht.',
  rewind_changed: 'Seitdem haben sich Dateien geändert. Prüfe die Liste und versuche es noch einmal.',
  rewind_nothing: 'Keine Datei unterscheidet sich vom Stand vor dieser Nachricht.',
  rewind_not_shown:
    'Eine der Dateien ist ein Link oder liegt außerhalb der Ordner, die du hier siehst. Deshalb lässt sich hier nichts wiederherstellen.',
  rewind_refused: 'Claude Code kann diese Dateien nicht wiederherstellen: {detail}.',
  fork_message_unknown:
    'Diese Nachricht kam in eine laufende Runde, deshalb lässt sich die Unterhaltung davor nicht abzweigen. Wähle eine andere Nachricht.',
  git_slow: 'Git hat zu lange gebraucht. Versuche es noch einmal.',
  server_unreachable:
    'Der Server, der diese Sitzung ausführt, ist gerade nicht erreichbar. Versuche es gleich noch einmal.',
  going_away: 'Der Server startet gerade oder wird beendet. Versuche es gleich noch einmal.',
  grant_not_found: 'Diese Berechtigung gibt es nicht oder du hast keinen Zugriff darauf.',
  grant_not_removed: 'Die Regel ließ sich nicht aus einer Einstellungsdatei entfernen und gilt weiter: {detail}.',
  held_approved: '{person} hat das gerade genehmigt. Die Genehmigung wird gleich gesendet. Du kannst noch ablehnen.',
  held_denied:
    '{person} hat das gerade abgelehnt. Die Ablehnung wird gleich gesendet. Niemand sonst kann jetzt antworten.',
  host_header: 'Die Anfrage muss genau einen Host nennen.',
  identity_taken: 'Mit dieser Identität meldet sich schon ein anderes Konto an.',
  input_empty: 'Die bearbeitete Eingabe ist leer.',
  input_malformed: 'Die bearbeitete Eingabe lässt sich nicht lesen: {detail}.',
  input_new_field: 'Die bearbeitete Eingabe hat das Feld „{name}“, das Claude nicht gesendet hat.',
  input_not_editable: 'Die Eingabe dieses Werkzeugs lässt sich nicht bearbeiten.',
  input_not_object: 'Die bearbeitete Eingabe muss ein JSON-Objekt sein.',
  input_too_large: 'Die bearbeitete Eingabe ist größer als {max} MB.',
  internal: 'Auf dem Server ist ein Fehler aufgetreten. Versuche es noch einmal. Details enthält sein Log.',
  last_admin: 'Das ist der letzte Admin. Mache zuerst eine andere Person zum Admin.',
  last_sign_in_way: 'Das ist deine einzige Anmeldemöglichkeit. Füge zuerst ein Passwort oder einen Passkey hinzu.',
  limit_each_cost:
    'Sitzungen in {project} sind auf {max:usd} am Tag pro Person begrenzt. Die von {person} haben heute {used:usd} gekostet. Claude macht um 00:00 UTC weiter oder sobald ein Admin das Limit erhöht.',
  limit_each_memory:
    'Sitzungen in {project} sind auf {max} MB Speicher pro Person begrenzt. Die von {person} belegen {used} MB. Beende zuerst eine davon.',
  limit_each_sessions:
    'Das Limit für gleichzeitige Sitzungen pro Person in {project} ist {max}. Beende zuerst eine Sitzung von {person}.',
  limit_person_cost:
    'Sitzungen von {person} sind auf {max:usd} am Tag begrenzt und haben heute {used:usd} gekostet. Claude macht um 00:00 UTC weiter oder sobald ein Admin das Limit erhöht.',
  limit_person_memory:
    'Sitzungen von {person} sind auf {max} MB Speicher begrenzt und belegen {used} MB. Beende zuerst eine davon.',
  limit_person_sessions: 'Das Limit für gleichzeitige Sitzungen von {person} ist {max}. Beende zuerst eine davon.',
  limit_project_cost:
    'Sitzungen in {project} sind auf {max:usd} am Tag begrenzt und haben heute {used:usd} gekostet. Claude macht um 00:00 UTC weiter oder sobald ein Admin das Limit erhöht.',
  limit_project_memory:
    'Sitzungen in {project} sind auf {max} MB Speicher begrenzt und belegen {used} MB. Beende zuerst eine davon.',
  limit_project_sessions: 'Das Limit für gleichzeitige Sitzungen in {project} ist {max}. Beende zuerst eine davon.',
  limit_range: 'Ein Limit ist eine Zahl ab 0. 0 bedeutet kein Limit.',
  limited_token: 'Ein Token mit eingeschränkter Rolle oder Ablaufdatum kann das nicht. Melde dich ohne Token an.',
  mcp_server_failed: 'Claude Code konnte das nicht ausführen: {detail}.',
  mcp_server_own: 'Über diesen Server fragt Claude Personen. Er lässt sich nicht ändern.',
  mcp_sign_in_address:
    'Dieser Server hat einen unsicheren Anmeldelink gesendet. Deshalb wird er nicht angezeigt. Sichere Links verwenden HTTPS.',
  mcp_sign_in_callback:
    'Kopiere die ganze Adresse der Seite, die nicht geladen wurde. Sie beginnt mit http://localhost.',
  member_role: 'Die Rolle eines Mitglieds ist Lesezugriff (viewer), Mitglied (member) oder Admin (admin).',
  member_twice: 'Ein Mitglied ist doppelt in der Liste.',
  member_unknown: 'Ein Mitglied hat hier kein Konto.',
  members_max: 'Ein Projekt kann bis zu {max} Mitglieder haben.',
  message_empty: 'Die Nachricht ist leer.',
  message_not_text: 'Die Nachricht enthält ungültige Zeichen.',
  message_too_long: 'Die Nachricht ist länger als {max} kB.',
  method_not_allowed: 'Diese Adresse unterstützt diese Methode nicht.',
  model_invalid: 'Ein Modellname besteht aus Buchstaben, Ziffern und - . _ : / @ [ ].',
  no_attachment: 'Diesen Anhang gibt es nicht mehr oder du hast keinen Zugriff darauf. Hänge die Datei noch einmal an.',
  no_deadline: 'Diese Frage hat keine Frist.',
  no_descriptors:
    'Dem Server gehen die Dateideskriptoren aus. Er darf {limit} öffnen. Schließe Tabs oder Sitzungen, oder erhöhe das Limit (LimitNOFILE in systemd, ulimit -n in einer Shell) und starte den Server neu.',
  no_demo: 'Dieser Server hat keine Demo.',
  no_identity_provider: 'Dieser Server hat keinen Identitätsanbieter.',
  no_oidc_here: 'Der Identitätsanbieter kennt diesen Server als {url}. Öffne sayso dort.',
  no_role:
    'Du hast dich bei {provider} angemeldet, hast hier aber keine Rolle. Frage einen Admin, welche Gruppe du brauchst.',
  no_such_address: 'Unter dieser Adresse gibt es nichts.',
  no_such_option: 'Diese Option gibt es nicht.',
  not_approved: 'Du hast keine Genehmigung, die du rückgängig machen kannst.',
  not_by_proxy: 'Dieser Server ist nur über seinen Proxy erreichbar. Öffne seine öffentliche Adresse.',
  not_found: 'Das gibt es nicht.',
  not_in_a_batch: 'Claude Code verlangt hier eine eigene Entscheidung. Öffne die Anfrage und entscheide dort.',
  not_in_time:
    'Der Server konnte das nicht rechtzeitig abschließen. Möglicherweise ist es erledigt: Prüfe das, bevor du es noch einmal versuchst.',
  not_low_risk: 'Das Risiko ist zu hoch für eine gemeinsame Genehmigung. Öffne die Anfrage und entscheide dort.',
  not_one_batch:
    'Gemeinsam lassen sich bis zu 20 Anfragen für dasselbe Werkzeug genehmigen, innerhalb einer Sitzung bis zu 50, jede einmal. Öffne diese Anfrage und entscheide dort.',
  not_one_question: 'Dieses Formular hat mehr als eine Frage. Beantworte es in der Web-App.',
  not_queued: 'Diese Nachricht ist nicht mehr in der Warteschlange. Claude hat sie oder sie wurde zurückgezogen.',
  not_running: 'Claude läuft in dieser Sitzung nicht. Sende eine Nachricht oder setze sie zuerst fort.',
  not_set_up:
    'Dieser Server ist noch nicht eingerichtet. Öffne seinen Anmeldelink auf dem Rechner, auf dem er läuft, oder setze dort ein Passwort für den ersten Admin: sayso user passwd admin.',
  not_signed_in: 'Du bist nicht angemeldet. Melde dich an oder sende ein API-Token.',
  nothing_held: 'Du hast keine Antwort, die du rückgängig machen kannst.',
  oidc_invalid:
    'Die Antwort von {provider} ließ sich nicht prüfen. Du wurdest nicht angemeldet. Versuche es noch einmal. Wenn es nicht klappt, findet ein Admin die Ursache im Log des Servers.',
  oidc_refused:
    '{provider} hat diese Anmeldung nicht bestätigt. Versuche es noch einmal. Wenn es nicht klappt, findet ein Admin die Ursache im Log des Servers.',
  oidc_unreachable: '{provider} ist nicht erreichbar. Versuche es später noch einmal oder melde dich anders an.',
  old_protocol: 'Diese Seite ist veraltet. Lade sie neu.',
  option_twice: '„{option}“ ist in „{question}“ doppelt ausgewählt.',
  option_unknown: '„{option}“ ist keine Option von „{question}“.',
  other_person: 'Das hat jemand anderes geschrieben, bevor du dich angemeldet hast. Es wurde nicht verwendet.',
  other_request: 'Inhalt und Adresse nennen verschiedene Anfragen.',
  other_session: 'Inhalt und Adresse nennen verschiedene Sitzungen.',
  parameter_number: 'Der Parameter „{name}“ muss eine Zahl ab 0 sein.',
  parameter_server: 'Der Parameter „of“ muss „server“ sein oder fehlen.',
  parameter_time: 'Der Parameter „{name}“ muss eine Zeit in Unix-Sekunden sein.',
  passkey_copied:
    'Dieser Passkey wurde abgelehnt, weil sein Zähler rückwärts lief, wie bei einer Kopie. Melde dich anders an, entferne ihn und erstelle einen neuen.',
  passkey_exists: 'Dieser Passkey ist schon registriert.',
  passkey_malformed: 'Das Feld „credential“ ist kein Passkey eines Browsers.',
  passkey_name: 'Gib dem Passkey einen Namen von 1 bis {max} Byte.',
  passkey_unknown: 'Dieser Passkey ist hier unbekannt oder wurde entfernt. Melde dich anders an.',
  passkey_unusable:
    'Der Browser hat einen Passkey erstellt, der sich hier nicht verwenden lässt. Versuche es mit einem anderen Gerät.',
  passkeys_elsewhere: 'Passkeys gehören zu {url}. Öffne sayso dort.',
  passkeys_ip_address:
    'Passkeys funktionieren nicht unter einer Adresse wie {host}. Gib dem Server einen Namen und starte ihn mit --public-url.',
  passkeys_loopback: 'Passkeys funktionieren nicht unter einer Adresse wie {host}. Öffne stattdessen {url}.',
  passkeys_need_domain:
    'Passkeys funktionieren nicht mit dem Namen {host}. Verwende eine Domain wie sayso.example.org.',
  passkeys_need_https:
    'Passkeys brauchen HTTPS. Starte sayso mit --public-url hinter einem Proxy mit HTTPS oder mit einem Zertifikat.',
  password_not_text: 'Das Passwort enthält ungültige Zeichen.',
  password_too_easy: 'Dieses Passwort ist zu leicht zu erraten. Wähle ein anderes.',
  password_too_long: 'Ein Passwort kann bis zu {max} Byte haben.',
  password_too_short:
    'Ein Passwort braucht mindestens {min} Zeichen. Gut geeignet sind mehrere Wörter ohne Zusammenhang.',
  path_invalid: 'Gib einen Pfad im Ordner der Sitzung an.',
  path_not_found: 'Dieser Ordner lässt sich nicht anzeigen. Er wurde verschoben oder gelöscht oder ist ein Link.',
  path_too_long: 'Dieser Pfad ist zu lang.',
  permission_mode_at_start:
    'Claude nimmt diesen Berechtigungsmodus nur beim Start an. Beende die Sitzung, ändere den Modus und setze sie fort.',
  permission_mode_unknown: 'Möglich sind diese Berechtigungsmodi: {modes}.',
  person_unknown: 'Eine der Personen hat hier kein Konto.',
  priority_range: 'Möglich sind Prioritäten von 1 bis 5.',
  project_changed: 'Jemand anderes hat dieses Projekt geändert. Nichts wurde gespeichert. Prüfe es noch einmal.',
  project_folder_invalid: 'Gib den Ordner als absoluten Pfad auf dem Server an.',
  project_folder_root:
    'Die ganze Festplatte kann kein Projekt sein. Ordner außerhalb aller Projekte sind schon für alle zugänglich.',
  project_folder_twice: 'Der Ordner {folder} ist doppelt in der Liste.',
  project_folders_max: 'Ein Projekt kann bis zu {max} Ordner haben.',
  project_folders_missing: 'Füge mindestens einen Ordner hinzu. Sitzungen darin gehören zum Projekt.',
  project_name_invalid: 'Ein Projektname hat bis zu {max} Zeichen und keinen Zeilenumbruch.',
  project_name_missing: 'Gib dem Projekt einen Namen.',
  project_name_taken: 'Ein Projekt mit diesem Namen gibt es schon.',
  project_not_found: 'Das gibt es nicht oder du hast keinen Zugriff darauf.',
  project_number: 'Der Parameter „p“ muss die Nummer eines Projekts sein.',
  project_role_needed: 'Dafür ist in {project} die Rolle {role} nötig. Bitte einen Admin des Projekts darum.',
  prompt_missing: 'Gib ein, was Claude tun soll.',
  push_key: 'Das ist kein Schlüssel eines Browsers.',
  push_keys: 'Das sind keine Schlüssel eines Browsers.',
  query_malformed: 'Die Parameter der Adresse sind fehlerhaft.',
  question_answered_twice: '„{question}“ ist doppelt beantwortet.',
  question_asked_twice: '„{question}“ wird mehrmals gefragt. Antworte mit der ID der Frage, in „responses“.',
  question_id_unknown: 'Eine Frage mit der ID „{id}“ gibt es nicht.',
  question_input_not_editable: 'Die Eingabe einer Frage lässt sich nicht bearbeiten, nur beantworten.',
  question_no_options: '„{question}“ hat keine Optionen. Antworte mit Text.',
  question_not_shown: '„{question}“ lässt sich nicht anzeigen. Du kannst nur „Nicht antworten“ wählen.',
  question_one_option: '„{question}“ erlaubt nur eine Option.',
  question_option_or_text: '„{question}“ erlaubt eine Option oder eigenen Text, nicht beides.',
  question_unanswered: '„{question}“ braucht eine Antwort.',
  question_unknown: 'Die Frage „{question}“ gibt es nicht.',
  question_value: 'Die Antwort auf „{question}“ hat nicht die verlangte Form.',
  question_yes_or_no: '„{question}“ erlaubt nur Ja oder Nein.',
  questions_unreadable: 'Die Fragen lassen sich nicht lesen. Du kannst nur „Nicht antworten“ wählen.',
  quiet_hours_time: 'Gib eine Uhrzeit wie 22:00 ein.',
  reminder_range: 'Eine Erinnerung kommt nach 1 bis 1440 Minuten oder nie.',
  request_changed: 'Claude fragt jetzt etwas anderes. Prüfe die Anfrage noch einmal.',
  request_closed: 'Diese Anfrage ist nicht mehr offen. Deine Antwort wurde nicht gesendet.',
  request_closed_extend: 'Diese Anfrage ist nicht mehr offen. Ihre Frist lässt sich nicht verlängern.',
  request_not_found: 'Diese Anfrage gibt es nicht oder du hast keinen Zugriff darauf. Nichts wurde gesendet.',
  resume_id: 'Die ID der fortzusetzenden Unterhaltung muss eine UUID sein.',
  resume_in_terminal:
    'Diese Unterhaltung läuft in einem Terminal. Beende sie zuerst dort oder zweige sie ab: Die Unterhaltung im Terminal bleibt dann unverändert.',
  resume_listed: 'Diese Unterhaltung ist schon in der Liste. Öffne sie dort und setze sie fort.',
  right_role: 'Dieses Recht ist für Mitglieder oder Admins des Projekts.',
  role_above_own: 'Du kannst keine Rolle über deiner eigenen vergeben.',
  role_changed: 'Deine Rolle hat sich geändert.',
  role_needed: 'Dafür ist die Rolle {role} nötig. Bitte einen Admin darum.',
  role_unknown: 'Eine Rolle ist Lesezugriff (viewer), Mitglied (member) oder Admin (admin).',
  rule_deny_people: 'Regel {rule} lehnt für alle ab und kann deshalb keine Personen nennen.',
  rule_effect: 'Regel {rule} muss erlauben, ablehnen oder zwei Personen verlangen.',
  rule_no_tool: 'Regel {rule} nennt kein Werkzeug. Gib * für alle Werkzeuge ein.',
  rule_person_unknown: 'Regel {rule} nennt eine Person, die hier kein Konto hat.',
  rule_restricts:
    'Eine Regel von {project} beschränkt, wer das genehmigen kann ({rule}). Wähle einen Berechtigungsmodus mit Rückfragen und erlaube nichts im Voraus.',
  rule_restricts_grant:
    'Das würde auch in {project} gelten, wo eine Regel beschränkt, wer das genehmigen kann ({rule}). Erlaube es nur für diese Sitzung.',
  rule_restricts_grant_hidden:
    'Das würde auch in einem Projekt gelten, das beschränkt, wer {tool} genehmigen kann. Erlaube es nur für diese Sitzung.',
  rule_too_long: 'Regel {rule} ist zu lang.',
  rule_two_people: 'Regel {rule} verlangt zwei Personen, nennt aber nur eine.',
  rules_bypass: 'Von hier aus lassen sich Genehmigungen nicht umgehen.',
  rules_malformed: 'Die Berechtigungsregeln lassen sich nicht lesen: {detail}.',
  rules_max: 'Ein Projekt kann bis zu {max} Regeln haben.',
  rules_need_tool: 'Berechtigungsregeln sind nur bei der Genehmigung eines Werkzeugs möglich.',
  rules_not_a_list: 'Die Berechtigungsregeln müssen eine JSON-Liste sein.',
  rules_not_an_object: 'Berechtigungsregel {rule} ist kein Objekt.',
  rules_not_offered: 'Berechtigungsregel {rule} wurde mit dieser Anfrage nicht angeboten.',
  rules_too_large: 'Die Berechtigungsregeln sind größer als {max} MB.',
  rules_too_many: 'Das sind {count} Berechtigungsregeln. Bis zu {max} lassen sich auf einmal erteilen.',
  running: 'Claude läuft in dieser Sitzung schon.',
  same_token_maker:
    'Wer dieses Token erstellt hat, hat auch eine Anmeldemöglichkeit für {person} erstellt. {person} hat zuerst genehmigt. Deshalb ist das keine zweite Genehmigung. Frage eine andere Person oder genehmige nach einem Tag noch einmal, sobald es kein solches Token mehr gibt.',
  search_too_long: 'Eine Suche hat bis zu {max} Zeichen.',
  secret_in_url:
    'Zugangsdaten dürfen nicht in einer Adresse stehen. Sende sie im Header Authorization und erstelle neue: Diese sind möglicherweise in einem Log.',
  secret_too_short: 'Ein Signaturschlüssel braucht mindestens {min} Zeichen.',
  server_admin_only:
    'Nur Admins des Servers können Name, Ordner, Limits und das Recht zum Umgehen von Genehmigungen ändern.',
  session_exists: 'Eine Sitzung mit dieser ID gibt es schon.',
  session_external:
    'Claude läuft für diese Sitzung nicht hier. Sie enthält Anfragen eines anderen Agenten, die du beantworten kannst.',
  session_not_found: 'Diese Sitzung gibt es nicht oder du hast keinen Zugriff darauf.',
  session_of_agent: 'Diese Sitzung enthält Anfragen eines Agenten außerhalb von sayso. Du kannst sie nur beantworten.',
  session_of_terminal:
    'Claude läuft für diese Sitzung in einem Terminal. Hier kannst du seine Anfragen beantworten. Alles andere geht im Terminal.',
  set_up_in_browser: 'Richte den Server in einem Browser ein, unter der Adresse, die er beim Start ausgegeben hat.',
  setting_invalid: '{setting}: {detail}.',
  shut_out: 'Dein Konto ist deaktiviert. Frage einen Admin.',
  sign_in_link_used:
    'Dieser Anmeldelink funktioniert nicht mehr. Ein Link lässt sich einmal innerhalb von 10 Minuten verwenden. Bitte um einen neuen.',
  sign_in_too_old:
    'Dafür ist eine aktuelle Anmeldung nötig. Melde dich ab und wieder an und kehre auf diese Seite zurück.',
  sign_in_without_token:
    'Dafür ist eine Anmeldung ohne Token nötig. Verwende deinen Passkey oder deinen Identitätsanbieter.',
  signed_out: 'Du bist abgemeldet. Melde dich wieder an.',
  start_not_allowed: 'Du kannst in diesem Ordner keine Sitzungen starten.',
  start_restricted: 'In {project} können nur diese Personen Sitzungen starten: {people}.',
  stream_closed: 'In diesem Stream ist keine Frage offen. Deine Antwort wurde nicht gesendet.',
  taken_back: 'Du hast diese Antwort rückgängig gemacht. Sie wurde nicht gesendet. Entscheide noch einmal.',
  template_name_missing: 'Gib der gespeicherten Antwort einen Namen.',
  template_text_missing: 'Gib der gespeicherten Antwort einen Text.',
  time_zone_unknown: 'Diese Zeitzone ist unbekannt. Gib eine wie Europe/Berlin ein.',
  token_name_missing: 'Gib dem Token einen Namen.',
  token_name_reserved: 'Dieser Name ist für das Token in den Server-Einstellungen reserviert. Wähle einen anderen.',
  token_name_taken:
    'Es gibt schon einen Benutzer {name}, und ein Token mit eigener Rolle wird zu einem Benutzer. Wähle einen anderen Namen.',
  token_role: 'Ein Token kann keine höhere Rolle haben als die Person, die es erstellt.',
  token_signs_out: 'Ein API-Token kann sich nicht abmelden. Widerrufe es unter /api/tokens.',
  too_many_attempts:
    'Zu viele fehlgeschlagene Anmeldungen von deiner Adresse oder bei diesem Konto. Warte kurz und versuche es dann noch einmal.',
  too_many_channels: 'Du hast die maximale Zahl von Geräten und Benachrichtigungszielen. Entferne zuerst eines.',
  too_many_connections: 'Der Server nimmt gerade keine weiteren Verbindungen an. Versuche es gleich noch einmal.',
  too_many_passkeys: 'Du hast {max} Passkeys, das Maximum. Entferne zuerst einen.',
  too_many_pins: 'Du hast {max} Sitzungen angeheftet, das Maximum. Löse zuerst eine.',
  too_many_templates: 'Du hast {max} gespeicherte Antworten, das Maximum. Entferne zuerst eine.',
  two_cookies:
    'Dein Browser hat 2 Anmelde-Cookies gesendet. Die Anfrage wurde abgelehnt. Lösche die Cookies dieser Adresse und melde dich dann neu an.',
  two_people_plain: 'Das müssen zwei Personen genehmigen. Genehmige es unverändert und ohne Regel.',
  unknown_stream: 'Dieser Stream ist unbekannt oder beendet.',
  unknown_type: 'Der Server kennt diesen Befehl nicht.',
  unsupported_media_type: 'Sende den Inhalt als application/json.',
  upgrade_required: 'Diese Adresse ist für WebSockets.',
  url_invalid: 'Das ist keine Adresse. Gib eine wie https://example.org/pfad ein.',
  url_not_https: 'Die Adresse muss mit https:// beginnen.',
  url_private:
    'Die Adresse führt zu diesem Rechner oder in ein privates Netz. Ein Admin kann das in den Server-Einstellungen erlauben.',
  user_name_confusing: 'Dieser Benutzername mischt Alphabete oder enthält verwechselbare Zeichen. Wähle einen anderen.',
  user_name_invalid: 'Ein Benutzername hat 1 bis {max} Byte aus Buchstaben, Ziffern, Leerzeichen und Satzzeichen.',
  user_name_taken: 'Dieser Benutzername ist vergeben. Wähle einen anderen.',
  wrong_host:
    'Der Server kennt diesen Hostnamen nicht. Verwende eine andere Adresse oder erlaube den Namen mit --allowed-host.',
  wrong_name_or_password: 'Benutzername oder Passwort ist falsch.',
  wrong_origin:
    'Diese Anfrage kam von einer anderen Website und wurde abgelehnt. Öffne sayso unter seiner eigenen Adresse.',
  wrong_password: 'Das ist nicht dein aktuelles Passwort. Nichts wurde geändert.',
  you_reset_approver:
    'Du hast das Passwort, ein Token oder eine andere Anmeldemöglichkeit von {person} erstellt oder zurückgesetzt. {person} hat zuerst genehmigt. Deshalb ist das keine zweite Genehmigung. Frage eine andere Person oder genehmige nach einem Tag noch einmal, sobald es kein solches Token mehr gibt.',
}

type Params = Record<string, string | number | string[]>

const roles: Record<string, string> = { viewer: 'Lesezugriff', member: 'Mitglied', admin: 'Admin' }
const quotas: Record<string, string> = {
  'five-hour': '5 Stunden',
  weekly: '7 Tage',
  'weekly Opus': '7 Tage, Opus',
  'weekly Sonnet': '7 Tage, Sonnet',
  'extra usage': 'zusätzliche Nutzung',
  usage: 'Nutzung',
}

/** Formats seconds in the largest unit that divides them. */
function span(seconds: number): string {
  const [unit, size] = seconds % 3600 === 0 ? ['hour', 3600] : seconds % 60 === 0 ? ['minute', 60] : ['second', 1]
  return decimal(seconds / Number(size), 0, { style: 'unit', unit: String(unit), unitDisplay: 'long' })
}

function show(name: string, value: Params[string], format: string | undefined): string {
  if (Array.isArray(value)) return list(value)
  if (typeof value === 'number') {
    if (format === 'usd')
      return decimal(value, value !== 0 && value < 0.1 ? 4 : 2, { style: 'currency', currency: 'USD' })
    return format === 'span' ? span(value) : decimal(value, Number.isInteger(value) ? 0 : 1)
  }
  return (name === 'role' && own(roles, value)) || (name === 'quota' && own(quotas, value)) || value
}

/** translateReason returns a sentence of the server in German, or unchanged if its reason is unknown. */
export function translateReason(sentence: string, what?: Partial<Reason> | null): string {
  const text = what?.reason === undefined ? undefined : own({ ...german, ...statementsInGerman }, what.reason)
  if (text === undefined) return sentence
  const params = what?.params ?? {}
  return text
    .replace(/\[([^\]]*\{(\w+)[^\]]*)\]/g, (_, part: string, name: string) => (Object.hasOwn(params, name) ? part : ''))
    .replace(/\{(\w+)(?::(\w+))?\}/g, (whole, name: string, format?: string) =>
      Object.hasOwn(params, name) ? show(name, params[name]!, format) : whole,
    )
}

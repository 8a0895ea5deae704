import type { statements } from '@/wire/errors.gen'

/**
 * The German text of every statement of the server, by its reason. A part in brackets is omitted without its
 * value.
 */
export const statementsInGerman: Record<keyof typeof statements, string> = {
  agent_asks_other: 'Der Agent fragt jetzt etwas anderes.',
  agent_canceled: 'Der Agent hat seine Frage abgebrochen.',
  agent_session_ended: 'Die Sitzung des Agenten ist beendet, sein Token ungültig.',
  answer_not_delivered:
    'Die Antwort zu {tool} von {at} hat Claude noch nicht erreicht. Wenn das anhält, beende die Sitzung und setze sie fort.',
  answered: 'Beantwortet[ von {by}][: {answer}].',
  approved: 'Genehmigt[ von {by}].',
  approved_changed: 'Mit Änderungen genehmigt[ von {by}].',
  asked_again: 'Claude hat das nach dem Fortsetzen noch einmal gefragt.',
  asker_gone: 'Der fragende Agent ist nicht mehr verbunden.',
  asker_stopped_waiting: 'Claude wartet nicht mehr auf die Antwort.',
  audit_entry: 'Eintrag {entry} ist der letzte, der zum vorigen passt.',
  audit_start: 'Der Anfang des Audit-Protokolls wurde verändert.',
  bypass_end_failed:
    'Wer Claude ohne Genehmigungen gestartet hat, hat dieses Recht nicht mehr. Der Modus ließ sich nicht umstellen.',
  bypass_ended:
    'Wer diese Sitzung ohne Genehmigungen gestartet hat, hat dieses Recht nicht mehr. Claude fragt ab jetzt wieder.',
  bypass_not_resumed:
    'Diese Sitzung umgeht Genehmigungen. Deshalb wurde Claude nicht automatisch gestartet. Setze die Sitzung fort oder wähle zuerst einen anderen Berechtigungsmodus.',
  cli_broken: 'Die Claude-CLI unter {path} läuft nicht: {detail}.',
  cli_gone: 'Unter {path} gibt es keine Claude-CLI mehr.',
  cli_missing:
    'Unter {path} gibt es keine Claude-CLI. Korrigiere die Einstellung --claude oder installiere die CLI dort.',
  cli_not_executable: 'Die Claude-CLI unter {path} ist nicht ausführbar. Ändere das mit: {command}',
  cli_not_installed:
    'Die Claude-CLI ist nicht installiert: Im PATH gibt es kein claude. Installiere sie oder gib ihren Pfad mit --claude an.',
  cli_other: 'Das Programm unter {path} ist nicht die Claude-CLI: Es nennt keine Version.',
  machines_only:
    'Dieser Server startet selbst keine Sitzungen. Sie starten auf den Maschinen, die mit ihm verbunden sind.',
  cli_signed_out:
    'Claude ist auf diesem Server nicht angemeldet. Führe dort einmal {command} aus und melde dich an oder setze ANTHROPIC_API_KEY und starte sayso neu.',
  cli_signed_out_there:
    'Claude ist auf {runner} nicht angemeldet. Führe dort einmal {command} aus und melde dich an oder setze dort ANTHROPIC_API_KEY und starte sayso neu.',
  cli_slow: 'Die Claude-CLI unter {path} hat in {limit:span} keine Version genannt.',
  cli_unreadable: 'Die Claude-CLI unter {path} lässt sich nicht lesen.',
  conversation_compacted: 'Claude hat die bisherige Unterhaltung zusammengefasst, um Kontext freizugeben.',
  conversation_restarted:
    'Claude endete, bevor es diese Unterhaltung gespeichert hatte. Sie beginnt deshalb neu mit denselben Nachrichten.',
  database_behind:
    'Die Datenbank ist älter als dieser Prozess: Sie stammt aus einer Sicherung oder hat ihre letzten Änderungen verloren. sayso liest noch einmal, was Claude seitdem ausgegeben hat. Antworten und wartende Nachrichten aus dieser Zeit sind verloren.',
  declined: 'Nicht beantwortet[ von {by}].',
  declined_why: 'Nicht beantwortet[ von {by}]: {why}',
  denied: 'Abgelehnt[ von {by}].',
  denied_why: 'Abgelehnt[ von {by}]: {why}',
  earlier_too_long: 'Der frühere Verlauf ist zu lang für die Anzeige. Claude kennt ihn trotzdem.',
  ended_at_start: 'Claude endete gleich nach dem Start[ ({how})].[ Ausgabe: {output}]',
  ended_away: 'Der Claude-Prozess endete, während der Server nicht lief[ ({how})].[ Ausgabe: {output}]',
  ended_by: 'Von {by} beendet.',
  ended_by_itself: 'Der Claude-Prozess wurde unerwartet beendet[ ({how})].[ Ausgabe: {output}]',
  file_unreadable: '{file} ließ sich nicht lesen: {detail}.',
  folder_changed:
    'Die Einstellungen des Ordners wurden beim Start von Claude geändert. Starte noch einmal, um sie zu prüfen.',
  folder_gone: 'Den Ordner {folder} gibt es nicht mehr.',
  settings_never_loaded:
    'Die Maschine lädt die Einstellungen von {folder} nicht. Setze die Sitzung ohne sie fort oder trage den Ordner dort in trusted-folder ein.',
  folder_not_resumed:
    'Den aktuellen Einstellungen des Ordners hat noch niemand vertraut. Deshalb wurde Claude nicht automatisch gestartet. Setze die Sitzung fort, um sie zu prüfen.',
  grant_external: 'Die Regel wurde einem Claude außerhalb von sayso erteilt und gilt dort bis zu dessen Ende.',
  grant_folder_running:
    'Eine laufende Sitzung kann in diesem Ordner arbeiten, bis du darin wieder etwas genehmigst oder ihr Prozess endet.',
  grant_machine_unreachable:
    '{runner} war nicht erreichbar. Falls die Regel in den dortigen Einstellungsdateien steht, gilt sie dort weiter.',
  grants_machine_unread: 'Die Einstellungsdateien von {runner} konnten nicht gelesen werden.',
  grant_session_unreachable:
    'Eine laufende Sitzung war nicht erreichbar. Für sie gilt die Regel möglicherweise, bis ihr Prozess endet.',
  held_credential_ended: 'Die Anmeldung oder das Token dafür ist beendet.',
  held_giver_gone: 'Dieses Konto kann sich nicht mehr anmelden.',
  held_right_lost: 'Diese Person kann das nicht mehr beantworten.',
  held_role_lost: 'Diese Person kann nicht mehr antworten.',
  held_two_people: 'Jetzt müssen das zwei Personen genehmigen.',
  id_reused_closed:
    'Claude hat die ID einer geschlossenen Anfrage für eine andere Anfrage verwendet. Die geschlossene bleibt unverändert. Die andere wurde niemandem gezeigt und nicht ausgeführt. Unterbrich Claude, falls es darauf wartet.',
  id_reused_open:
    'Claude hat die ID einer offenen Anfrage für eine andere Anfrage verwendet. Die offene bleibt unverändert. Die andere wurde niemandem gezeigt und nicht ausgeführt. Unterbrich Claude, falls es darauf wartet.',
  idle: '{limit:span} lang kam keine Nachricht.',
  interrupted_by: '{by} hat Claude unterbrochen.',
  journal_deleted:
    'Die Dateien dieses Prozesses, die sayso anlegt, wurden gelöscht. Die Sitzung läuft weiter, übersteht aber keinen Neustart des Servers. Beende sie und setze sie fort, um sicherzugehen.',
  journal_full:
    'Claude wartet, weil {machine} nicht mehr von seiner Ausgabe aufbewahren kann, die lange kein Server gespeichert hat. Nichts geht verloren. Claude macht weiter, sobald sayso nachgekommen ist.',
  journal_was_full:
    'Claude hat gewartet, weil {machine} nicht mehr von seiner Ausgabe aufbewahren konnte, während kein Server verbunden war. Nichts ging verloren, und Claude macht weiter.',
  line_failed:
    'sayso konnte einen Teil der Ausgabe von Claude nicht verarbeiten. Er fehlt hier womöglich. Falls es eine Anfrage war, hat sie niemand gesehen, und nichts wurde ausgeführt. Unterbrich Claude, falls es nicht weitermacht. Die Ursache steht im Log des Servers.',
  answer_waits: 'Claude endete, bevor es eine Antwort umgesetzt hat. Setze die Sitzung fort, damit es weitergeht.',
  message_repeated:
    'Claude endete, bevor es die letzte Nachricht gespeichert hatte. Sie wird deshalb noch einmal gesendet.',
  not_answered: 'Niemand hat rechtzeitig geantwortet.',
  not_asked_again: 'Claude hat weitergemacht, ohne das noch einmal zu fragen.',
  not_open: 'Diese Anfrage ist nicht mehr offen.',
  not_started: 'Claude konnte nicht gestartet werden: {detail}.',
  orphaned_requests:
    'Claude wurde beendet, seine Anfragen lassen sich aber noch beantworten. Claude erhält die Antworten, wenn die Sitzung fortgesetzt wird.',
  other_node: 'Der Prozess gehört zum Server {node}, der von hier nicht erreichbar ist. Sieh dort nach.',
  output_blocked:
    'Claude wartet, weil {machine} seine Ausgabe nicht speichern kann: {detail}. Prüfe dort den Datenträger mit dem Zustandsordner von sayso. Nichts geht verloren, und Claude macht weiter, sobald wieder Daten gespeichert werden können.',
  process_ended_first: 'Der Claude-Prozess endete vor einer Antwort. Nichts wurde ausgeführt.',
  process_recovered:
    'Die Datenbank kennt diesen Prozess nicht und ist vermutlich älter als er. sayso hat die Sitzung aus dem laufenden Prozess wiederhergestellt. Antworten und wartende Nachrichten, die nur in der Datenbank standen, sind verloren.',
  process_unknown: 'Dieser Server kennt den Prozess nicht mehr. Starte den Server neu oder setze die Sitzung fort.',
  process_unreachable: 'Der Claude-Prozess war nach dem Neustart des Servers nicht erreichbar und wurde beendet.',
  question_withdrawn: 'Die Frage wurde zurückgezogen.',
  quota_near: 'Das Limit des Claude-Kontos ({quota}) ist bald erreicht.[ Es wird um {at} zurückgesetzt.]',
  quota_reached: 'Das Limit des Claude-Kontos ({quota}) ist erreicht.[ Es wird um {at} zurückgesetzt.]',
  quota_used: '{percent} % des Limits des Claude-Kontos ({quota}) sind verbraucht.[ Es wird um {at} zurückgesetzt.]',
  record_approved: 'Genehmigt',
  record_declined: 'Nicht beantwortet',
  record_declined_stopped: 'Nicht beantwortet und unterbrochen[: {why}]',
  record_denied: 'Abgelehnt',
  record_edited: 'Genehmigt, bearbeitet',
  record_edited_granted: 'Genehmigt, bearbeitet, mit Berechtigungen',
  record_granted: 'Genehmigt, mit Berechtigungen',
  record_stopped: 'Abgelehnt und unterbrochen[: {why}]',
  retry_connection:
    'Die Verbindung zur Claude-API ist fehlgeschlagen. Neuer Versuch in {seconds} s ({attempt} von {max}).',
  retry_overloaded: 'Die Claude-API ist überlastet (529). Neuer Versuch in {seconds} s ({attempt} von {max}).',
  retry_status:
    'Die Claude-API hat mit einem Fehler geantwortet ({status}). Neuer Versuch in {seconds} s ({attempt} von {max}).',
  retry_throttled: 'Die Claude-API begrenzt die Anfragen (429). Neuer Versuch in {seconds} s ({attempt} von {max}).',
  server_stopped: 'Der Server wurde beendet.',
  server_stopped_claude: 'Der Server und Claude wurden beendet.',
  session_deleted: 'Die Sitzung wurde gelöscht.',
  session_recovered:
    'Die Datenbank kennt diese Sitzung nicht. sayso hat sie aus dem laufenden Prozess wiederhergestellt. Antworten, wartende Nachrichten und Einstellungen, die nur in der Datenbank standen, sind verloren.',
  shim_silent:
    'Der Supervisor dieses Prozesses hat seit dem Neustart des Servers nicht geantwortet. Antwortet er weiterhin nicht, wird der Prozess beendet.',
  shim_silent_admin: 'Der Supervisor des Prozesses hat seit dem Neustart des Servers nicht geantwortet.',
  silent: 'Claude war {limit:span} lang nicht aktiv.',
  start_failed: 'Claude wurde nicht richtig gestartet: {detail}.[ Ausgabe: {output}]',
  start_unanswered: 'Claude hat nach dem Start {limit:span} lang nicht geantwortet.[ Ausgabe: {output}]',
  store_broken:
    'Die Festplatte der Datenbank ist ausgefallen. Bis der Server auf einer intakten Festplatte neu startet, wird nichts gespeichert. Sitzungen warten und lassen sich weiterhin beenden.',
  store_read_only:
    'Die Festplatte des Servers ist voll oder schreibgeschützt. Solange kein Platz ist, kannst du nichts beantworten, senden oder starten. Sitzungen warten, nichts geht verloren. Sitzungen lassen sich weiterhin beenden.',
  store_unavailable:
    'Die Datenbank des Servers antwortet nicht. Solange das so ist, kannst du nichts beantworten, senden oder starten. Sitzungen warten und lassen sich weiterhin beenden.',
  stuck_answer:
    'Claude hat die Antwort zu {tool} von {at} noch nicht übernommen. Wenn das anhält, beende die Sitzung und setze sie fort.',
  stuck_api: 'Warten auf die Claude-API, die seit {since} nichts gesendet hat.',
  stuck_growing:
    'Claude ist seit {since} nicht aktiv. Der Speicher seiner Prozesse ist von {before} MB auf {after} MB gestiegen.',
  stuck_retrying: 'Die Claude-API ist seit {since} nicht erreichbar. Claude versucht es weiter.',
  stuck_silent: 'Claude ist seit Beginn der Runde um {since} nicht aktiv.',
  stuck_tool: 'Das Werkzeug {tool} läuft seit {since} ohne Aktivität.',
  target_slow: 'Das Ziel hat nicht rechtzeitig geantwortet.',
  target_status: 'Das Ziel hat mit {status}[ ({text})] geantwortet.',
  target_unreachable: 'Das Ziel war nicht erreichbar.',
  terminal_answered: 'Im Terminal beantwortet.',
  terminal_denied: 'Im Terminal abgelehnt.',
  terminal_ended: 'Claude im Terminal wurde beendet.',
  time_limit: 'Zeitlimit erreicht: Der Prozess lief {limit:span} lang.',
  files_restore_unconfirmed:
    '{by} hat Claude angewiesen, Dateien auf den Stand vor einer früheren Nachricht zu bringen, und Claude hat es nicht bestätigt. Prüfe die Änderungen. Dateien: {files}.',
  files_not_restored:
    '{by} wollte Dateien auf den Stand vor einer früheren Nachricht bringen, und Claude hat abgelehnt. Dateien: {files}.',
  files_restored: '{by} hat Dateien auf den Stand vor einer früheren Nachricht gebracht. Dateien: {files}.',
  turn_continued:
    'Claude hat die unterbrochene Runde nicht selbst fortgesetzt. sayso hat Claude gebeten, weiterzumachen.',
  turn_interrupted: 'Die Runde wurde unterbrochen.',
  withdrawn: 'Claude hat diese Anfrage zurückgezogen.',
  withdrawn_away: 'Claude hat diese Anfrage zurückgezogen, während der Server nicht lief.',
  withdrawn_database_away: 'Claude hat diese Anfrage zurückgezogen, während die Datenbank nicht antwortete.',
  wrong_protocol: 'Das Programm versteht das Protokoll von Claude nicht.[ Ausgabe: {output}]',
}

package export

// words are the labels of a file in one language.
type words struct {
	language                                          string
	claude, person, thinking, todo, plan, subagent    string
	note, turnEnd, input, result, proposed            string
	failed, running, noResult, carried, editedHere    string
	edited, editedBy, by, waited, tooLarge, truncated string
	turn, untitled, intro, complete                   string
	session, project, folder, model, created          string
	attached, notIncluded                             string
	outcomes                                          map[string]string
}

func wordsOf(language string) *words {
	if language == "de" {
		return &german
	}
	return &english
}

var english = words{
	language: "en",
	claude:   "Claude", person: "Message", thinking: "Thinking", todo: "To do", plan: "Plan", subagent: "Subagent",
	note: "Note", turnEnd: "End of turn", input: "Input", result: "Result", proposed: "Proposed by Claude (did not run)",
	failed: "Failed.", running: "Running when this was exported.", noResult: "Ended without a result; it may not have run.",
	carried: "Carried over from before Claude resumed.", editedHere: "Edited before approval.",
	edited: "Edited before it ran.", editedBy: "Edited by %s before it ran.", by: "%s by %s", waited: "Claude waited %s.",
	tooLarge: "The input is too large to include (%d bytes).", truncated: "Truncated; the full result has %d bytes.",
	turn:     "%.1f s · %d tokens in, %d out · $%.4f",
	untitled: "Untitled session", intro: "Exported by %s on %s.", complete: "End of the transcript. %d items.",
	session: "Session", project: "Project", folder: "Folder", model: "Model", created: "Created",
	attached: "Attachment: %s (%d bytes)", notIncluded: "not included",
	outcomes: map[string]string{"approved": "Approved", "answered": "Answered", "denied": "Denied", "withdrawn": "Withdrawn", "expired": "Expired"},
}

var german = words{
	language: "de",
	claude:   "Claude", person: "Nachricht", thinking: "Gedanken", todo: "Aufgaben", plan: "Plan", subagent: "Subagent",
	note: "Hinweis", turnEnd: "Ende der Runde", input: "Eingabe", result: "Ergebnis", proposed: "Vorschlag von Claude (nicht ausgeführt)",
	failed: "Fehlgeschlagen.", running: "Lief noch beim Export.", noResult: "Ohne Ergebnis beendet; möglicherweise nicht ausgeführt.",
	carried: "Übernommen aus der Zeit vor dem Fortsetzen.", editedHere: "Vor der Genehmigung bearbeitet.",
	edited: "Vor der Ausführung bearbeitet.", editedBy: "Von %s vor der Ausführung bearbeitet.", by: "%s von %s", waited: "Claude wartete %s.",
	tooLarge: "Die Eingabe ist zu groß für den Export (%d Bytes).", truncated: "Gekürzt; das ganze Ergebnis hat %d Bytes.",
	turn:     "%.1f s · %d Tokens ein, %d aus · $%.4f",
	untitled: "Sitzung ohne Titel", intro: "Exportiert von %s am %s.", complete: "Ende des Verlaufs. %d Einträge.",
	session: "Sitzung", project: "Projekt", folder: "Ordner", model: "Modell", created: "Erstellt",
	attached: "Anhang: %s (%d Bytes)", notIncluded: "nicht enthalten",
	outcomes: map[string]string{"approved": "Genehmigt", "answered": "Beantwortet", "denied": "Abgelehnt", "withdrawn": "Zurückgezogen", "expired": "Abgelaufen"},
}

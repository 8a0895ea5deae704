package alert

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Message is a notification as a target receives it.
type Message struct {
	Kind     string `json:"kind"` // show, close
	Tag      string `json:"tag"`  // a message replaces the one with the same tag
	Title    string `json:"title"`
	Body     string `json:"body,omitempty"`
	Path     string `json:"path"` // within the web app
	Renotify bool   `json:"renotify,omitempty"`
}

// words holds the texts of notifications in one language.
type words struct {
	approval, question, plan, page string
	several                        func(int) string
	reminder, finished, died       string
	over, test, testBody           string
	untitled                       string
}

var languages = map[string]words{
	"": {
		approval: "Approval needed: %s", question: "Claude has a question", plan: "A plan needs your approval", page: "An MCP server requests input",
		several:  func(n int) string { return fmt.Sprintf("%d requests need your attention", n) },
		reminder: "Reminder: %s", finished: "Claude finished", died: "The Claude process stopped",
		over: "Answered", test: "Test notification", testBody: "Notifications work on this device.", untitled: "Untitled session",
	},
	"de": {
		approval: "Freigabe nötig: %s", question: "Claude hat eine Frage", plan: "Ein Plan braucht deine Freigabe", page: "Ein MCP-Server bittet um eine Eingabe",
		several:  func(n int) string { return fmt.Sprintf("%d Anfragen brauchen deine Antwort", n) },
		reminder: "Erinnerung: %s", finished: "Claude ist fertig", died: "Der Claude-Prozess ist beendet",
		over: "Beantwortet", test: "Testbenachrichtigung", testBody: "Benachrichtigungen kommen auf diesem Gerät an.", untitled: "Sitzung ohne Titel",
	},
}

func wordsOf(language string) words {
	if w, ok := languages[language]; ok {
		return w
	}
	return languages[""]
}

// maxText bounds a text of a notification, in bytes: a push message holds 4 KB.
const maxText = 300

// line turns any text into one line of at most maxText bytes.
func line(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == utf8.RuneError }), " ")
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

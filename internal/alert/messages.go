package alert

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sayso-dev/sayso/internal/ellipsis"
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

// messages holds the texts of alerts in one language.
type messages struct {
	approval, question, plan, page string
	several                        func(int) string
	reminder, finished, died       string
	closed, test, testBody         string
	untitled                       string
}

var languages = map[string]messages{
	"": {
		approval: "Approval needed: %s", question: "Claude has a question", plan: "A plan needs your approval", page: "An MCP server requests input",
		several:  func(n int) string { return fmt.Sprintf("%d requests need your attention", n) },
		reminder: "Reminder: %s", finished: "Claude finished", died: "The Claude process stopped",
		closed: "Answered", test: "Test notification", testBody: "Notifications work on this device.", untitled: "Untitled session",
	},
	"de": {
		approval: "Freigabe nötig: %s", question: "Claude hat eine Frage", plan: "Ein Plan braucht deine Freigabe", page: "Ein MCP-Server bittet um eine Eingabe",
		several:  func(n int) string { return fmt.Sprintf("%d Anfragen brauchen deine Antwort", n) },
		reminder: "Erinnerung: %s", finished: "Claude ist fertig", died: "Der Claude-Prozess ist beendet",
		closed: "Beantwortet", test: "Testbenachrichtigung", testBody: "Benachrichtigungen kommen auf diesem Gerät an.", untitled: "Sitzung ohne Titel",
	},
}

func messagesFor(language string) messages {
	if w, ok := languages[language]; ok {
		return w
	}
	return languages[""]
}

// maxText bounds a text in an alert, in bytes. A push message holds 4096 bytes.
const maxText = 300

// singleLine joins the lines of a text and truncates it to maxText bytes.
func singleLine(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == utf8.RuneError }), " ")
	return ellipsis.Bytes(text, maxText)
}

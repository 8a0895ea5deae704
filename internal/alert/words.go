package alert

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Message is what a target is told.
type Message struct {
	Kind     string `json:"kind"` // show, close
	Tag      string `json:"tag"`  // one of the same tag takes its place
	Title    string `json:"title"`
	Body     string `json:"body,omitempty"`
	Path     string `json:"path"` // within the web app
	Renotify bool   `json:"renotify,omitempty"`
}

// words is the text of alerts in one language.
type words struct {
	approval, question, plan, page string
	several                        func(int) string
	reminder, finished, died       string
	over, test, testBody           string
	untitled                       string
}

var languages = map[string]words{
	"": {
		approval: "Approval needed: %s", question: "Claude has a question", plan: "A plan waits for you", page: "An MCP server asks for something",
		several:  func(n int) string { return fmt.Sprintf("%d requests wait for you", n) },
		reminder: "Still waiting: %s", finished: "Claude finished", died: "The Claude process ended",
		over: "Answered", test: "This is a test", testBody: "Alerts reach you here.", untitled: "Untitled session",
	},
	"de": {
		approval: "Freigabe nötig: %s", question: "Claude hat eine Frage", plan: "Ein Plan wartet auf dich", page: "Ein MCP-Server fragt nach etwas",
		several:  func(n int) string { return fmt.Sprintf("%d Anfragen warten auf dich", n) },
		reminder: "Wartet noch immer: %s", finished: "Claude ist fertig", died: "Der Claude-Prozess ist beendet",
		over: "Beantwortet", test: "Das ist ein Test", testBody: "Hier erreichen dich Hinweise.", untitled: "Sitzung ohne Titel",
	},
}

func wordsOf(language string) words {
	if w, ok := languages[language]; ok {
		return w
	}
	return languages[""]
}

// maxText bounds what one alert says, in bytes: a push message holds 4 KB.
const maxText = 300

// line makes one bounded line of a text of any origin.
func line(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == utf8.RuneError }), " ")
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

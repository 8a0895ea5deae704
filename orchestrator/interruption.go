package orchestrator

import (
	"regexp"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/session"
)

// What people read where the CLI itself would speak to the model, or to its makers.
const turnInterrupted = "The turn was interrupted."

// interrupt is a person's interrupt of the present turn.
type interrupt struct {
	By  string `json:"by"`
	Key string `json:"key"` // of the note about it
	// Early means that the turn had not begun when the CLI was told. 2.1.197 then accepts
	// the interrupt and ignores it, so it must be told again once the turn has begun.
	Early   bool `json:"early,omitempty"`
	Refused bool `json:"refused,omitempty"` // by the CLI
	Noted   bool `json:"noted,omitempty"`   // the transcript has the note
}

func (i *interrupt) reason() string { return i.By + " interrupted Claude." }

// note returns the note about the interrupt of a turn that is over.
func (i *interrupt) note(now time.Time) session.Item {
	return session.Item{Key: i.Key, At: now, Kind: session.ItemNote, Body: encode(session.NoteBody{Level: "info", Text: i.reason()})}
}

// interruption is why the present turn ends before its time, in our words. The zero
// interruption is none that we know of.
type interruption struct {
	reason string
	ended  bool // the process is ended with it, which is said once, at its end
}

// marker reports whether a text is how the CLI tells the model of an interruption.
func marker(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "[Request interrupted by user") && strings.HasSuffix(text, "]")
}

// rejected matches what the CLI makes the result of a call that it cut off.
var rejected = regexp.MustCompile(`(?is)^\s*(<tool_use_error>)?(error: )*(the user doesn't want to (proceed with this tool use|take this action right now)|the request was withdrawn before a person decided|` +
	`request interrupted|\[request interrupted by user|interrupted by user|tool permission (request failed|stream closed)|.{0,80}stream closed before response received|request was aborted|the operation was aborted|aborterror)`)

// result returns what people read as the result of a call that failed with text.
func (i interruption) result(text string) string {
	if i.reason != "" && rejected.MatchString(text) {
		return i.reason
	}
	return text
}

// internal matches the lines that the CLI has for its makers: diagnostics, and the
// stack of an exception.
var internal = regexp.MustCompile(`^\s*(\[ede_diagnostic\]|at .+(:\d+:\d+|\(native\)|<anonymous>)\)?$|undefined$|null$|\[object Object\]$)|\$bunfs`)

// errors returns what people read of the errors of a turn that failed.
func (i interruption) errors(m *claude.Result) string {
	if i.reason != "" && m.Subtype == "error_during_execution" {
		if i.ended {
			return ""
		}
		return i.reason
	}
	var lines []string
	for _, text := range append([]string{m.Text}, m.Errors...) {
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, "\r\n"); !internal.MatchString(line) {
				lines = append(lines, line)
			}
		}
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

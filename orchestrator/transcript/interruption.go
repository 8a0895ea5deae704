package transcript

import (
	"strings"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/lazyregexp"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/session"
)

// Interrupt is a person's interrupt of the current turn.
type Interrupt struct {
	By  string `json:"by"`  // name of the person
	Key string `json:"key"` // of the note about the interrupt
	// Early is set if the turn had not started when the CLI received the interrupt. 2.1.197
	// then accepts the interrupt and ignores it, so it must be sent again once the turn has
	// started.
	Early   bool `json:"early,omitempty"`
	Refused bool `json:"refused,omitempty"` // by the CLI
	Noted   bool `json:"noted,omitempty"`   // the transcript has the note
}

func (i *Interrupt) reason() string { return statement.New("interrupted_by", "by", i.By) }

// interruption is why the current turn ends early, for people. The zero interruption
// means that no reason is known.
type interruption struct {
	reason string
	ended  bool // the process ends with the turn, which another note reports
}

// interruption returns why the current turn ends early.
func (b *Builder) interruption() interruption {
	switch {
	case b.Ending != "":
		return interruption{reason: b.Ending, ended: true}
	case b.Interrupt != nil:
		return interruption{reason: b.Interrupt.reason()}
	}
	return interruption{}
}

// NoteInterrupt returns the note about the interrupt of the current turn, unless there was no
// interrupt or the transcript already has the note.
func (b *Builder) NoteInterrupt(now time.Time) []session.Item {
	if b.Interrupt == nil || b.Interrupt.Noted {
		return nil
	}
	b.Interrupt.Noted = true
	return []session.Item{Note(b.Interrupt.Key, "info", b.Interrupt.reason(), now)}
}

// isInterruptionMarker reports whether a text is the one with which the CLI tells the model about
// an interruption.
func isInterruptionMarker(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "[Request interrupted by user") && strings.HasSuffix(text, "]")
}

// rejected matches the results that the CLI creates for calls that it cut off.
var rejected = lazyregexp.New(`(?is)^\s*(<tool_use_error>)?(error: )*(the user doesn't want to (proceed with this tool use|take this action right now)|the request was withdrawn before a person decided|` +
	`request interrupted|\[request interrupted by user|interrupted by user|tool permission (request failed|stream closed)|.{0,80}stream closed before response received|request was aborted|the operation was aborted|aborterror)`)

// resultText returns the text to show as the result of a call that failed with text.
func (i interruption) resultText(text string) string {
	if i.reason != "" && rejected.MatchString(text) {
		return i.reason
	}
	return text
}

// internal matches lines that the CLI prints for its developers: diagnostics and
// stack traces.
var internal = lazyregexp.New(`^\s*(\[ede_diagnostic\]|at .+(:\d+:\d+|\(native\)|<anonymous>)\)?$|undefined$|null$|\[object Object\]$)|\$bunfs`)

// errorText returns the text to show for the errors of a turn that failed.
func (i interruption) errorText(m *claude.Result) string {
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
